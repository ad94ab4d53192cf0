"""Simulated participants of a double of Prolific: they sign up there, take places, judge on our pages, and go back.

Nothing is asked of the double but its participants' pages and its API. The two things that time would do are done by
the caller: the background jobs, with `turn`, and the end of a person's time, with `lapse`.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

from evaluation.files.preferences import Preference
from platforms.models import LabAccount, Publication
from platforms.registry import CALL_ERRORS, adapter_of
from simulation.attending import REFUSED, Crowd, Progress, Visitor, attend
from simulation.browser import ANSWERED, Form, Page, WrongPage
from simulation.crowd import Answers, End, Habits, Tally, Work

COUNTRY = "1"  # the double's United States


class ParticipantHabits(NamedTuple):
    """What else people do at Prolific, as shares of them: `returners` return a submission in the middle and take
    another place, `codeless` end a submission without its code. Those who are late never come back: their time ends.
    """

    returners: float = 0.15
    codeless: float = 0.1


def judge(
    *,
    publication: Publication,
    preferences: Iterable[Preference],
    url: str,
    app_url: str,
    workers: int,
    habits: Habits,
    participant_habits: ParticipantHabits,
    turn: Callable[[], None],
    lapse: Callable[[str], None],
    seed: int = 1,
    progress: Callable[[Progress], None] | None = None,
) -> Tally:
    """Let a crowd judge a published campaign, `workers` people at a time, until all is done, approved and paid.

    `url` is where our own pages are, `app_url` where participants are at home; `turn` has the background jobs run, and
    is called about once a second; `lapse` ends the time of the submission of that id.

    Raises WrongPage, or what else went wrong, of the first who met it, and if nothing moves for two minutes.
    """
    crowd = _Crowd(publication, Answers(preferences), url, app_url, habits, participant_habits, lapse, seed)
    return attend(crowd, workers=workers, turn=turn, progress=progress)


class _Crowd(Crowd):
    """What the participants have in common."""

    def __init__(
        self,
        publication: Publication,
        answers: Answers,
        url: str,
        app_url: str,
        habits: Habits,
        participant_habits: ParticipantHabits,
        lapse: Callable[[str], None],
        seed: int,
    ) -> None:
        super().__init__(publication, answers, url, habits, seed)
        self.app_url, self.participant_habits, self.lapse = app_url, participant_habits, lapse
        self.client = adapter_of(publication).client()
        self.project = LabAccount.objects.get(lab=publication.campaign.lab_id, platform=publication.platform).project_id

    def person(self, number: int) -> "_Participant":
        """Somebody who will sign up."""
        return _Participant(number, self)

    def free_places(self) -> int:
        """The places of the study that nobody has."""
        self.publication.refresh_from_db()
        ours = self.publication.hit_type_id
        try:  # only the list says how many places are taken
            studies = list(self.client.listed(f"projects/{self.project}/studies/")) if ours else []
        except CALL_ERRORS:
            return 0
        open_now = [study for study in studies if study["id"] == ours and study["status"] == "ACTIVE"]
        return sum(int(study["total_available_places"]) - int(study["places_taken"]) for study in open_now)


class _Participant(Visitor):
    """Somebody who takes part in studies."""

    def __init__(self, number: int, crowd: _Crowd) -> None:
        super().__init__(number, crowd)
        self.crowd: _Crowd = crowd
        self.returner = self.random.random() < crowd.participant_habits.returners
        self.codeless = self.random.random() < crowd.participant_habits.codeless

    def come(self) -> None:
        """Sign up, and take places until there is none, or no more wish to."""
        try:
            with (
                self.open_browser(self.crowd.app_url) as self.prolific,
                self.open_browser(self.crowd.url) as self.browser,
            ):
                form = self.prolific.get("/login").form("form:has(input[name=name])")
                name = f"Participant {len(self.crowd.people)}"
                self.prolific.post(form._replace(action="/login"), {"name": name, "country": COUNTRY})
                self.tally.add("people")
                while self.hits > 0 and not self.crowd.closed:
                    submission = self._take()
                    if not submission or not self._work(submission):
                        return
                    self.hits -= 1
        finally:
            self.searching = False

    def _take(self) -> str:
        """Take a place of our study; its submission, or nothing where there is no place."""
        study = f"/studies/{self.crowd.publication.hit_type_id}"
        if self.prolific.get("/").link(f"a[href='{study}']") is not None:
            page = self.prolific.post(Form(study, {}, ""), {}, good=REFUSED)
            if page.path.startswith("/submissions/"):
                self.searching = False
                return page.path.rpartition("/")[2]
        self.tally.add("found nothing")
        return ""

    def _work(self, submission: str) -> bool:
        """Open the study from its submission, and do what there is. Whether the person takes another place."""
        opened = self.prolific.request("POST", f"/submissions/{submission}/open", good=(303,), follow_redirects=False)
        task = self.browser.get(opened.headers["Location"], good=REFUSED)
        consent = task.maybe_form(ANSWERED)
        if consent is not None:
            address = urlsplit(opened.headers["Location"])
            if consent.action == task.path:  # posted to the page itself, with the ids that it came with
                consent = consent._replace(action=f"{address.path}?{address.query}")
            task = self.browser.post(consent, {}, good=REFUSED)
        if not task.path.startswith("/j/"):
            self._return(submission)
            self.tally.add("sent away")
            return False
        returns, self.returner = self.returner, False
        work = self.judge(task, stops=returns)
        if work.end == End.STOPPED:
            if returns:
                self._return(submission)
                self.tally.add("returned")
                return True
            self.crowd.lapse(submission)
            self.tally.add("time ran out")
            return False
        self._go_back(work, submission)
        return work.end == End.SENT

    def _go_back(self, work: Work, submission: str) -> None:
        """Complete the submission, with the code of our last page or without; whoever left early then returns it."""
        link = work.page.link("a[href*='/submissions/complete?cc=']")
        if link is None:
            raise WrongPage(f"{work.page.path} has no way back to Prolific")
        if self.codeless and work.end == End.SENT:
            page = self._act(submission, "code")
            self.tally.add("came back without a code")
        else:
            page = self.prolific.get(link)
        if page.path != f"/submissions/{submission}":
            raise WrongPage(f"Going back to Prolific led to {page.path}")
        if work.end == End.LEFT:
            self._return(submission)
            return
        self.crowd.handed_in.add(submission)
        self.tally.add("handed in")

    def _return(self, submission: str) -> None:
        self._act(submission, "return")

    def _act(self, submission: str, what: str) -> Page:
        return self.prolific.post(Form(f"/submissions/{submission}/{what}", {}, ""), {})
