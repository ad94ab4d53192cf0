/* Tells the page around the frame that something was submitted. It asks the marketplace itself whether that is so. */
"use strict";

if (window.parent !== window) window.parent.postMessage("marketplace:submitted", location.protocol + "//" + location.host);
