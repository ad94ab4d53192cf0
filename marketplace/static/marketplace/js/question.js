/* Runs at the end of a requester's HTML. Such pages were often written for one marketplace and one script of its own;
   this puts in what they still lack when that script is not there: the assignment id, and where the form goes. */
"use strict";

(() => {
  const given = new URLSearchParams(location.search);
  const assignment = given.get("assignmentId") || "";
  const preview = assignment === "ASSIGNMENT_ID_NOT_AVAILABLE";
  const target = given.get("turkSubmitTo") + "/mturk/externalSubmit";

  function complete(form) {
    const action = form.getAttribute("action") || "";
    if (!action || /\/mturk\/externalSubmit$/.test(action)) { form.action = target; form.method = "post"; }
    if (form.action !== target) return;
    let field = form.querySelector("[name=assignmentId]");
    if (!field) {
      field = document.createElement("input");
      field.type = "hidden";
      field.name = "assignmentId";
      form.append(field);
    }
    if (!field.value) field.value = assignment;
  }

  for (const form of document.forms) complete(form);
  addEventListener("submit", (event) => { if (event.target instanceof HTMLFormElement) complete(event.target); }, true);
  if (preview) {
    for (const form of document.forms) {
      if (form.action !== target) continue;
      for (const button of form.querySelectorAll("[type=submit], button:not([type])")) button.disabled = true;
    }
  }
})();
