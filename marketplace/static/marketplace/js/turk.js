/* Runs before a requester's HTML. Mechanical Turk's script for such pages had these functions, and pages call them; the
   script itself is not here, nor may it be reachable. If the page loads it all the same, its functions replace these. */
"use strict";

(() => {
  const given = new URLSearchParams(location.search);

  /* A parameter of the page's address, or the default if it is not there. */
  window.turkGetParam = (name, fallback) => given.has(name) ? given.get(name) : fallback;

  /* Where the form goes, without the path. */
  window.turkGetSubmitToHost = () => window.turkGetParam("turkSubmitTo", "");

  /* Puts the assignment's id into the form that is called mturk_form. In a preview, it cannot be submitted. */
  window.turkSetAssignmentID = (id) => {
    const assignment = id ?? window.turkGetParam("assignmentId", "");
    const form = document.getElementById("mturk_form");
    const field = document.getElementById("assignmentId");
    const button = document.getElementById("submitButton");
    if (form) form.action = window.turkGetSubmitToHost() + "/mturk/externalSubmit";
    if (field) field.value = assignment;
    if (button && assignment === "ASSIGNMENT_ID_NOT_AVAILABLE") button.disabled = true;
  };
})();
