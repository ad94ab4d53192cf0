"""What is said at Prolific otherwise than in general: its study, submissions, participants and places.

What a participant gets on a place, ten pairs or so, is called a task: a HIT that is judged by three people is one task
on three places.
"""

from platforms.vocabulary import Vocabulary

_TERMS = {
    "HIT": "task",
    "HITs": "tasks",
    "HIT type": "study",
    "assignment": "submission",
    "assignments": "submissions",
    "an assignment": "a submission",
    "worker": "participant",
    "workers": "participants",
    "worker's": "participant's",
    "workers'": "participants'",
    "worker’s": "participant’s",
    "workers’": "participants’",
    "have accepted a HIT": "have taken a place",
    "the platform": "Prolific",
    "the platform's": "Prolific's",
    "the platform’s": "Prolific’s",
    "this platform": "Prolific",
    "our access key": "the lab's token",
    "from accepting to submitting": "from starting to submitting",
}

_PLACES = {
    "Assignments": "Places",
    "%(assignments)s assignment": "%(assignments)s place",
    "%(assignments)s assignments": "%(assignments)s places",
    "with %(assignments)s assignment at %(platform)s: %(total)s if all of it is done. Nothing has been sent yet.": (
        "with %(assignments)s place at %(platform)s: %(total)s if all of it is done. Nothing has been sent yet."
    ),
    "with %(assignments)s assignments at %(platform)s: %(total)s if all of it is done. Nothing has been sent yet.": (
        "with %(assignments)s places at %(platform)s: %(total)s if all of it is done. Nothing has been sent yet."
    ),
    "%(published)s of %(hits)s HITs are at %(platform)s; assignments submitted: %(submitted)s; paid: %(paid)s.": (
        "The study at %(platform)s has places for %(published)s of %(hits)s tasks; submissions: %(submitted)s; paid: "
        "%(paid)s."
    ),
    "What workers are told": "What participants are told",
    "No more HITs are published, and none gets more assignments.": "The study gets no more places.",
}

_STUDY = {
    "End all open HITs": "Pause the study at Prolific",
    "End all open HITs…": "Pause the study at Prolific…",
    "End all open HITs?": "Pause the study at Prolific?",
    "End open HITs": "Pause the study",
    "End": "Pause",
    "All open HITs are being ended.": "The study is being paused.",
    "%(open)s open HIT is ended at the platform.": "The study is paused: nobody gets the %(open)s open task.",
    "%(open)s open HITs are ended at the platform.": "The study is paused: nobody gets the %(open)s open tasks.",
    "%(open)s open HIT is ended at the platform now.": "The study is paused now: nobody gets the %(open)s open task.",
    "%(open)s open HITs are ended at the platform now.": (
        "The study is paused now: nobody gets the %(open)s open tasks."
    ),
    "Extending reopens HITs that still need work.": "Extending starts the study again if tasks still need work.",
    "HITs that need work stay open until you pause or stop.": (
        "The study is open until you pause or stop, or nothing needs work any more."
    ),
    "No HITs are open at the platform now.": "The study is not open at Prolific now.",
    "You can resume later: HITs that need work then open for another lifetime, and what is owed is paid.": (
        "You can resume later: the study is started again then, and what is owed is paid."
    ),
    "Workers who have accepted a HIT can still submit it, and are paid.": (
        "Participants who have taken a place can still finish, and are paid."
    ),
    "Workers who have accepted a HIT can still submit it, and the platform may still approve it automatically. Calls "
    "that are being made at this moment cannot be recalled.": (
        "Participants who have taken a place can still finish, and Prolific may still approve their submissions "
        "automatically. Calls that are being made at this moment cannot be recalled."
    ),
    "Pausing publishes no more HITs and ends the open ones. Workers who have accepted a HIT can still submit it, and "
    "are paid.": (
        "Pausing pauses the study at Prolific too. Participants who have taken a place can still finish, and are paid."
    ),
    "While the publication is paused, nothing more is published. Workers who have accepted a HIT can still submit it, "
    "and are paid.": (
        "While the publication is paused, the study is paused too. Participants who have taken a place can still "
        "finish, and are paid."
    ),
    "While the publication is stopped, nothing is published and nobody is paid. What is owed stays owed. Resuming "
    "opens HITs that need work for another lifetime.": (
        "While the publication is stopped, the study is paused and nobody is paid. What is owed stays owed. Resuming "
        "starts the study again."
    ),
    "Paused. Nothing more is published, and HITs that are open at the platform are ended.": (
        "Paused. The study is being paused at Prolific."
    ),
    "Resumed. HITs that need work are open for another lifetime.": "Resumed. The study is being started again.",
    "Publishing has begun. HITs go out in the background, at the set rate.": (
        "Publishing has begun. The study is made and published in the background."
    ),
    "The terms have been replaced. HITs move to them in the background, at the set rate.": (
        "The terms have been replaced."
    ),
    "The campaign is published, so its platform and pay can no longer be changed. The other terms can be replaced; "
    "the HITs stay.": (
        "The campaign is published, so its platform and pay can no longer be changed, nor what participants are shown: "
        "a published study stays as it is. Terms that only matter here can be replaced."
    ),
    "%(moving)s HIT at the platform moves to the new terms, one call each, at the set rate.": (
        "%(moving)s task at Prolific is under the new terms. Nothing is sent."
    ),
    "%(moving)s HITs at the platform move to the new terms, one call each, at the set rate.": (
        "%(moving)s tasks at Prolific are under the new terms. Nothing is sent."
    ),
    "They stay the same HITs, with the work already done on them.": "The work already done on them stays.",
    "Notifications belong to a HIT type: if you use them, turn them on again afterwards, under State.": (
        "Notifications go on as they are."
    ),
    "Label in the HITs' annotations": "The study's internal name",
    "How long a HIT is offered. It can be extended.": "Not used: a study is open until it is paused or completed.",
    "After this time, the platform takes the HIT back.": "After this time, Prolific offers the place to somebody else.",
    "Separated by commas. Workers search by them.": "Not used: Prolific's studies have no keywords.",
    "The paper used workers in the US with more than 10,000 approved tasks and at least 97% approved. On a new "
    "marketplace, perhaps nobody meets this: the next page says how many do.": (
        "The paper used people in the US with more than 10,000 approved tasks and at least 97% approved. The next "
        "page says how many participants meet this."
    ),
    "The last one is made %(number)s times, with each HIT's own question and annotation; the one for the first HIT is "
    "shown.": "These are all the requests: participants get their task when they arrive here.",
}

_CALLS = {
    "create the exclusion qualification": "create the group of those who get no more",
    "create the HIT type": "create the draft of the study",
    "publish a HIT": "publish the study's places",
    "request more assignments": "ask for more places",
    "end a HIT": "pause or stop the study",
    "reopen a HIT": "start the study again",
    "offer a compensation": "pay a compensation",
    "%(count)d HIT has expired and still needs work. Extend the publication.": (
        "%(count)d task still needs work, and the study is not open. Extend the publication."
    ),
    "%(count)d HITs have expired and still need work. Extend the publication.": (
        "%(count)d tasks still need work, and the study is not open. Extend the publication."
    ),
    "HITs have expired": "the study is not open, and tasks need work",
    "publish HITs and send planned calls": "publish places and send planned calls",
    "request more work, and end HITs that need none": "request more work, and end what needs none",
}

_MONEY = {
    "At our own marketplace, ask its operator to add money. At Mechanical Turk, you buy prepaid HITs on the requester "
    "site. The calls then continue automatically.": (
        "Add money to the workspace at Prolific, under “Finances”. The calls then continue automatically."
    ),
    "Set the access key where this site runs. The calls then continue automatically.": (
        "Store a token that Prolific accepts, on the lab's page under “Account at Prolific”. The calls then continue "
        "automatically."
    ),
    "This is work that was done here and can no longer be submitted at the platform. A compensation is a HIT that only "
    "this worker can take; taking it pays what is owed. The platform does not say whether the worker had really "
    "accepted the HIT, so a person decides whether to offer the compensation, or to decline it because the ids were "
    "made up.": (
        "This is work that was done here on a submission that was returned or timed out at Prolific. A compensation is "
        "a bonus on that submission: offering it pays what is owed. A person decides whether to offer it or to "
        "decline it."
    ),
    "The compensation has been offered. Only this worker can take it, within 30 days.": (
        "The compensation is being paid, as a bonus on the submission."
    ),
    "Offer the compensation if the worker had really accepted the HIT; otherwise decline it.": (
        "Offer the compensation, which pays it as a bonus on the submission, or decline it."
    ),
    "Assignment %(id)d was done here but not submitted at the platform. Offer a compensation.": (
        "Work %(id)d was done here, and its submission was not completed at Prolific. Offer a compensation."
    ),
    "for assignment %(id)s": "for work %(id)s",
}

_TERMS_PAGE = {
    "A small base and a bonus: the platform lists the base below, and work beyond it is paid as a bonus.": (
        "A small base and a bonus: not possible at Prolific, whose participants are shown the whole reward."
    ),
    "For “a small base and a bonus” only: the reward that the platform lists.": "Not used at Prolific.",
    "For work that nobody has decided on. Work is usually checked and approved long before.": (
        "Not used: Prolific approves after 21 days what nobody has decided on."
    ),
    "The full reward for complete work: a worker who leaves early returns the task, and you can offer their share as a "
    "compensation.": (
        "The full reward for complete work: a participant who leaves early returns the submission, and you can offer "
        "their share as a compensation."
    ),
    "a worker who leaves early returns the HIT and is compensated": (
        "a participant who leaves early returns the submission and is compensated"
    ),
}

_REACH = {
    "Once published, the platform and the pay can no longer be changed; the other terms can be replaced. You can pause "
    "or stop publishing at any time.": (
        "Once the study is published, its pay and what participants are shown stay as they are. You can pause or stop "
        "it at any time."
    ),
    "%(qualified)s of the %(active)s people who were active in the last 90 days could take this.": (
        "%(qualified)s of the %(active)s participants who were active in the last 90 days could take this."
    ),
    "Fewer than %(least)d people were active in the last 90 days.": (
        "Fewer than %(least)d participants were active in the last 90 days."
    ),
    "With these terms, nobody would see the HITs. Ask less of workers, or wait until more have joined.": (
        "With these terms, nobody would see the study. Ask less of participants."
    ),
    "Check whether workers qualify: the terms say what is required of them, and can be replaced. If they do, look at "
    "the title, pay and description as a worker would.": (
        "Check whether participants pass the filters. If they do, look at the title, pay and description of the study "
        "as a participant would."
    ),
    "A list of the API's QualificationRequirements, or of Prolific's filters. Leave empty for none.": (
        "A list of Prolific's filters. Leave empty for none. The page “Filters” offers them by their names."
    ),
    "Platforms only show pages over https. Set SITE_URL to the address of this site, starting with https://.": (
        "Prolific only sends participants to addresses over https. Set SITE_URL to the address of this site, starting "
        "with https://."
    ),
    "Platforms refuse too many calls. 5 is safe.": "Prolific refuses too many calls. 5 is safe.",
}

VOCABULARY = Vocabulary(_TERMS, _PLACES | _STUDY | _CALLS | _MONEY | _TERMS_PAGE | _REACH)
