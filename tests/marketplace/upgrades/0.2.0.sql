-- 0001_initial dce9996309a909a4
INSERT INTO marketplace_accesskey (id, key_id, sealed_secret, label, created_at, revoked_at, requester_id) VALUES
	(1, 'MKP24S2AADR4BO8NIX3E', 'gAAAAABrCsxpSaLOG3PauC6Spe6aJJZv3rr7Uai4t_n-dAmS9UyRrfSDNKY3pJWPpIuJI9l9mAHbrvRWZuAPDDXZeqlpgt25mBMn2hGsphZjKVLzZZt4v-hpk1H4u7pNZoSkNz26yWow', '', '2026-11-28 12:43:21.186+00', NULL, 1),
	(2, 'MKPG94D45MVX1F9VX88F', 'gAAAAABrCsxprxrUiBOAhFpn1clYnxEGHfkZJW3xiKq9Za_kAq8ZN43JSXsEowLOgmNNXgaLhq1qYkFVKC3Wc65ALn_3LvslI9aXFAFYydRoZKQ7UCOvqL3EniqpOfb3nijv3UMzHo-7', '', '2026-11-28 12:43:21.279+00', NULL, 2),
	(3, 'MKPYKSW2GRDQWQ1VGEI1', 'gAAAAABrCsxppQJxmIHL4Vpcndeqlr6I5iEaWNe2AUau2jX4wTQ5tnSzs-hXhZgL7tUHRAXTqRoQHkxduqiqhrh8ZiEoUZqIj_l5nNWqvdOYsBJnUBI-2j7BuTl9hzhnFIAhhlH3x6zG', 'a second key', '2026-11-28 12:43:21.421+00', NULL, 1);
INSERT INTO marketplace_account (id, password, last_login, email, is_operator, is_active, created_at) VALUES
	(1, 'md5$G9Lio4EH6Mz1m4Yg56eezB$38af9a93669037ed8fe0d79dbdd39561', '2026-11-28 12:43:21.166497+00', 'olga@example.org', true, true, '2026-11-28 12:43:20.565+00'),
	(2, 'md5$IEP1qF4DSlDVf3dpPPt9Kz$6a897c2227c8d6c2cd1fc7462ec0b13d', '2026-11-28 12:43:21.349601+00', 'wanda1@example.org', false, true, '2026-11-28 12:43:21.332+00'),
	(3, 'md5$Q5P1Sv579RlAvf2YWjWeHN$1cbee43a2a6ed002c211526c2f72b346', '2026-11-28 12:43:21.36804+00', 'wanda2@example.org', false, true, '2026-11-28 12:43:21.357+00'),
	(4, 'md5$7MJxwGmB16fpHvGrGOLOe6$8261dd6ea9fd43b58d8dc60c60eea78b', '2026-11-28 12:43:21.391101+00', 'wanda3@example.org', false, true, '2026-11-28 12:43:21.378+00');
INSERT INTO marketplace_apicall (id, at, operation, request_id, subject, outcome, key_id) VALUES
	(1, '2026-11-28 12:43:21.462+00', 'CreateQualificationType', '13366690-99b3-44df-8417-7c5fa2ac2b22', '3YYW91S0C83TAU7Y75FTQCXBZQ6BMJ', '', 1),
	(2, '2026-11-28 12:43:21.48+00', 'AssociateQualificationWithWorker', '31a78f59-cf4f-4d95-a4e5-c6896f766d4e', '3YYW91S0C83TAU7Y75FTQCXBZQ6BMJ', '', 1),
	(3, '2026-11-28 12:43:21.493+00', 'AssociateQualificationWithWorker', 'c3699167-f6f9-42cb-a9c9-38a968a833fd', '3YYW91S0C83TAU7Y75FTQCXBZQ6BMJ', '', 1),
	(4, '2026-11-28 12:43:21.505+00', 'DisassociateQualificationFromWorker', '56e2f111-8d2d-4c55-82f5-44d15fa6d78b', '3YYW91S0C83TAU7Y75FTQCXBZQ6BMJ', '', 1),
	(5, '2026-11-28 12:43:21.536+00', 'CreateHIT', '461864b0-4e72-4f93-8280-451aa0980ed0', '3Z77Z5VNO7BRQTRTOGTG6BJVFPSJ9I', '', 1),
	(6, '2026-11-28 12:43:21.552+00', 'UpdateNotificationSettings', '5cfb5e6f-979a-413f-a6a0-79787ce51f2d', '3U0D3PYFN2SXUJ85I8MIRHFMLDT3A8', '', 1),
	(7, '2026-11-28 12:43:21.675+00', 'ApproveAssignment', 'f5364547-2b04-4cb7-81dd-eba73195c0bc', '3SJKVXNAY3G71EAUJXJ03652KHI2KF', '', 1),
	(8, '2026-11-28 12:43:21.696+00', 'SendBonus', 'ffd0296a-c645-41ae-8e44-8faf94139b34', '3SJKVXNAY3G71EAUJXJ03652KHI2KF', '', 1),
	(9, '2026-11-28 12:43:21.717+00', 'RejectAssignment', '1ef25ff3-8b31-4940-aefc-0abeed6d91f3', '3YU6X5SDOYSOUEOXOSI6O0D6J7D4GK', '', 1),
	(10, '2026-11-28 12:43:21.749+00', 'RejectAssignment', '6bd906a0-793b-48ac-ae81-c71f250ee448', '3YN75GQ8P7V2DMLF2PFKH0IBXDUC6M', '', 1),
	(11, '2026-11-28 12:43:21.816+00', 'CreateHIT', '7c17df1e-09a6-4af3-97f0-31daa0c4eb58', '3ITCBI0ZU5ZT2ZEAM8T64UCCHYRE8U', '', 1),
	(12, '2026-11-28 12:43:21.857+00', 'CreateHIT', '263da304-b2e4-41d2-be97-1c775aa3d5e7', '3K3ZU4D8SEXV6EP6P4VYYU4RJ6MUL6', '', 1),
	(13, '2026-11-28 12:43:21.907+00', 'CreateHIT', '46eedf37-36ae-48a6-bb2b-1d1bbb9e2f9a', '3AUS9BMQKTZ5E7NQY28ZCHP35BR4RU', '', 1),
	(14, '2026-11-28 12:43:21.966+00', 'CreateHIT', 'e868f2c2-783c-40f4-a8c1-6a4476326202', '3QPE0D8QIDKQ0I15HW6YLXHKANYFKM', '', 1),
	(15, '2026-11-28 12:43:21.984+00', 'UpdateExpirationForHIT', 'f0e9bead-425c-4e01-b1db-2081c2fc2740', '3QPE0D8QIDKQ0I15HW6YLXHKANYFKM', '', 1),
	(16, '2026-11-28 12:43:22.004+00', 'DeleteHIT', 'e4690e56-2398-498b-8799-0764be52b62e', '3QPE0D8QIDKQ0I15HW6YLXHKANYFKM', '', 1),
	(17, '2026-11-28 12:43:22.03+00', 'CreateHIT', '3550545d-069b-4324-9c5f-f68cd60670ce', '3HPPMHBXN1GUM4HLW063R0VVHDK0QV', '', 1),
	(18, '2026-11-28 12:43:22.049+00', 'CreateHIT', 'd19a0b4f-7aef-4305-b594-924aff7ff3cf', '3TL1W40K2E4N3A60WSPNC5RY0WHZH5', '', 2),
	(19, '2026-11-28 12:43:22.108+00', 'CreateWorkerBlock', 'b4ef1f65-bb3d-43da-89f0-fd327b1a55d2', 'AV0R917KQ6T4QY', '', 1),
	(20, '2026-11-28 12:43:22.128+00', 'NotifyWorkers', 'c5653dec-dd5c-4490-a748-348e745f9f07', '', '', 1);
INSERT INTO marketplace_assignment (id, assignment_id, state, reward, fee, auto_approval_seconds, accepted_at, deadline, left_at, submitted_at, auto_approval_at, approved_at, approved_by_clock, rejected_at, answer, feedback, hit_id, worker_id) VALUES
	(1, '3SJKVXNAY3G71EAUJXJ03652KHI2KF', 'Approved', 1.00, 0.20, 259200, '2026-11-28 12:43:21.56+00', '2026-11-28 12:53:21.56+00', NULL, '2026-11-28 12:43:21.579+00', '2026-12-01 12:43:21.579+00', '2026-11-28 12:43:21.667+00', false, NULL, '<?xml version="1.0" encoding="UTF-8"?>
<QuestionFormAnswers xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd">
<Answer>
<QuestionIdentifier>answer</QuestionIdentifier>
<FreeText>left</FreeText>
</Answer>
</QuestionFormAnswers>', 'Thank you', 1, 1),
	(3, '3YN75GQ8P7V2DMLF2PFKH0IBXDUC6M', 'Rejected', 1.00, 0.20, 259200, '2026-11-28 12:43:21.631+00', '2026-11-28 12:53:21.631+00', NULL, '2026-11-28 12:43:21.648+00', '2026-12-01 12:43:21.648+00', NULL, false, '2026-11-28 12:43:21.742+00', '<?xml version="1.0" encoding="UTF-8"?>
<QuestionFormAnswers xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd">
<Answer>
<QuestionIdentifier>answer</QuestionIdentifier>
<FreeText>left</FreeText>
</Answer>
</QuestionFormAnswers>', 'Too quick', 1, 3),
	(2, '3YU6X5SDOYSOUEOXOSI6O0D6J7D4GK', 'Approved', 1.00, 0.20, 259200, '2026-11-28 12:43:21.598+00', '2026-11-28 12:53:21.598+00', NULL, '2026-11-28 12:43:21.615+00', '2026-12-01 12:43:21.615+00', '2026-11-28 12:43:21.782+00', false, '2026-11-28 12:43:21.71+00', '<?xml version="1.0" encoding="UTF-8"?>
<QuestionFormAnswers xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd">
<Answer>
<QuestionIdentifier>answer</QuestionIdentifier>
<FreeText>left</FreeText>
</Answer>
</QuestionFormAnswers>', 'Too quick', 1, 2),
	(4, '3MQJNGNKORRRY0ZC3RF9W2BDEI0TDO', 'Accepted', 1.00, 0.20, 259200, '2026-11-28 12:43:21.826+00', '2026-11-28 12:53:21.826+00', NULL, NULL, NULL, NULL, false, NULL, '', '', 2, 1),
	(5, '3VQUXV8RHSAJQ7GA9P0A4GUX1RC6MM', 'Submitted', 1.00, 0.20, 259200, '2026-11-28 12:43:21.865+00', '2026-11-28 12:53:21.865+00', NULL, '2026-11-28 12:43:21.881+00', '2026-12-01 12:43:21.881+00', NULL, false, NULL, '<?xml version="1.0" encoding="UTF-8"?>
<QuestionFormAnswers xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2005-10-01/QuestionFormAnswers.xsd">
<Answer>
<QuestionIdentifier>answer</QuestionIdentifier>
<FreeText>left</FreeText>
</Answer>
</QuestionFormAnswers>', '', 3, 1),
	(6, '38NXN0Q3X58G8T1G7E9EP5EBV5KQ7B', 'Returned', 1.00, 0.20, 259200, '2026-11-28 12:43:21.917+00', '2026-11-28 12:53:21.917+00', '2026-11-28 12:43:21.938+00', NULL, NULL, NULL, false, NULL, '', '', 4, 2);
INSERT INTO marketplace_auditevent (id, at, command, action, subject, details, account_id, actor_id) VALUES
	(1, '2026-11-28 12:43:20.567+00', 'create_operator', 'create operator', '', '{}', 1, NULL),
	(2, '2026-11-28 12:43:21.115+00', 'reset_password', 'issue password link', '', '{"reason": "Asked by telephone"}', 1, NULL),
	(3, '2026-11-28 12:43:21.402+00', '', 'invite worker', 'invitation 4', '{"note": ""}', NULL, 1),
	(4, '2026-11-28 12:43:21.422+00', '', 'issue key', 'RMTW58K4Y4BH8N', '{"label": "a second key", "key_id": "MKPYKSW2GRDQWQ1VGEI1"}', NULL, 1),
	(5, '2026-11-28 12:43:21.795+00', '', 'overturn rejection', '3YU6X5SDOYSOUEOXOSI6O0D6J7D4GK', '{"amount": "1.00", "answer": "The answers are sound"}', NULL, 1),
	(6, '2026-11-28 12:43:22.061+00', '', 'deactivate requester', 'R6JC8VVWHJPGG6', '{"reason": "Asked for it"}', NULL, 1),
	(7, '2026-11-28 12:43:22.18+00', '', 'pay out', 'P-2f97ac20e9', '{"amount": "2.50", "workers": 2}', NULL, 1),
	(8, '2026-11-28 12:43:22.198+00', '', 'payout came back', 'ALIIXNPMN721C7', '{"amount": "1.00", "reason": "The account is closed", "reference": "P-2f97ac20e9"}', NULL, 1);
INSERT INTO marketplace_bonuspayment (id, amount, fee, reason, granted_at, assignment_id, requester_id) VALUES
	(1, 0.50, 0.10, 'Quick', '2026-11-28 12:43:21.69+00', 1, 1);
INSERT INTO marketplace_dailyrun (name, began_at, ended_at, ok, report) VALUES
	('books', '2026-11-28 12:43:22.246+00', '2026-11-28 12:43:22.258+00', true, '{"totals": {"fees": "0.50", "earned": "2.50", "entries": "23", "on_hold": "6.00", "paid_out": "1.50", "available": "101.00", "deposited": "110.00", "requesters": "2"}, "differences": []}'),
	('forget', '2026-11-28 12:43:22.261+00', '2026-11-28 12:43:22.267+00', true, '{"days": 0, "kept": 0, "workers": 0, "sessions": 0, "api_calls": 0, "first_kept": [], "notifications": 0}');
INSERT INTO marketplace_dispute (id, text, state, opened_at, closed_at, answer, assignment_id) VALUES
	(2, 'I read both', 'open', '2026-11-28 12:43:21.758+00', NULL, '', 3),
	(1, 'I read both', 'overturned', '2026-11-28 12:43:21.728+00', '2026-11-28 12:43:21.794+00', 'The answers are sound', 2);
INSERT INTO marketplace_entry (id, at, kind, number, available, on_hold, available_after, on_hold_after, earned, note, assignment_id, bonus_id, payout_id, hit_id, payout_list_id, requester_id, worker_id) VALUES
	(1, '2026-11-28 12:43:21.178+00', 'deposit', 1, 100.00, 0.00, 100.00, 0.00, 0.00, '', NULL, NULL, NULL, NULL, NULL, 1, NULL),
	(2, '2026-11-28 12:43:21.275+00', 'deposit', 1, 10.00, 0.00, 10.00, 0.00, 0.00, '', NULL, NULL, NULL, NULL, NULL, 2, NULL),
	(3, '2026-11-28 12:43:21.529+00', 'hold', 2, -4.80, 4.80, 95.20, 4.80, 0.00, '', NULL, NULL, NULL, 1, NULL, 1, NULL),
	(4, '2026-11-28 12:43:21.667+00', 'reward', 3, 0.00, -1.00, 95.20, 3.80, 1.00, '', 1, NULL, NULL, 1, NULL, 1, 1),
	(5, '2026-11-28 12:43:21.667+00', 'fee', 4, 0.00, -0.20, 95.20, 3.60, 0.00, '', 1, NULL, NULL, 1, NULL, 1, NULL),
	(6, '2026-11-28 12:43:21.69+00', 'bonus', 5, -0.50, 0.00, 94.70, 3.60, 0.50, '', 1, 1, NULL, 1, NULL, 1, 1),
	(7, '2026-11-28 12:43:21.69+00', 'bonus fee', 6, -0.10, 0.00, 94.60, 3.60, 0.00, '', 1, 1, NULL, 1, NULL, 1, NULL),
	(8, '2026-11-28 12:43:21.71+00', 'release', 7, 1.20, -1.20, 95.80, 2.40, 0.00, '', NULL, NULL, NULL, 1, NULL, 1, NULL),
	(9, '2026-11-28 12:43:21.742+00', 'release', 8, 1.20, -1.20, 97.00, 1.20, 0.00, '', NULL, NULL, NULL, 1, NULL, 1, NULL),
	(10, '2026-11-28 12:43:21.782+00', 'hold', 9, -1.20, 1.20, 95.80, 2.40, 0.00, '', 2, NULL, NULL, 1, NULL, 1, NULL),
	(11, '2026-11-28 12:43:21.782+00', 'reward', 10, 0.00, -1.00, 95.80, 1.40, 1.00, '', 2, NULL, NULL, 1, NULL, 1, 2),
	(12, '2026-11-28 12:43:21.782+00', 'fee', 11, 0.00, -0.20, 95.80, 1.20, 0.00, '', 2, NULL, NULL, 1, NULL, 1, NULL),
	(13, '2026-11-28 12:43:21.809+00', 'hold', 12, -1.20, 1.20, 94.60, 2.40, 0.00, '', NULL, NULL, NULL, 2, NULL, 1, NULL),
	(14, '2026-11-28 12:43:21.851+00', 'hold', 13, -1.20, 1.20, 93.40, 3.60, 0.00, '', NULL, NULL, NULL, 3, NULL, 1, NULL),
	(15, '2026-11-28 12:43:21.9+00', 'hold', 14, -1.20, 1.20, 92.20, 4.80, 0.00, '', NULL, NULL, NULL, 4, NULL, 1, NULL),
	(16, '2026-11-28 12:43:21.959+00', 'hold', 15, -1.20, 1.20, 91.00, 6.00, 0.00, '', NULL, NULL, NULL, 5, NULL, 1, NULL),
	(17, '2026-11-28 12:43:21.977+00', 'release', 16, 1.20, -1.20, 92.20, 4.80, 0.00, '', NULL, NULL, NULL, 5, NULL, 1, NULL),
	(18, '2026-11-28 12:43:22.022+00', 'hold', 17, -1.20, 1.20, 91.00, 6.00, 0.00, '', NULL, NULL, NULL, 6, NULL, 1, NULL),
	(19, '2026-11-28 12:43:22.043+00', 'hold', 2, -1.20, 1.20, 8.80, 1.20, 0.00, '', NULL, NULL, NULL, 7, NULL, 2, NULL),
	(20, '2026-11-28 12:43:22.066+00', 'release', 3, 1.20, -1.20, 10.00, 0.00, 0.00, '', NULL, NULL, NULL, 7, NULL, 2, NULL),
	(21, '2026-11-28 12:43:22.178+00', 'payout', NULL, 0.00, 0.00, NULL, NULL, -1.50, '', NULL, NULL, NULL, NULL, 1, NULL, 1),
	(22, '2026-11-28 12:43:22.178+00', 'payout', NULL, 0.00, 0.00, NULL, NULL, -1.00, '', NULL, NULL, NULL, NULL, 1, NULL, 2),
	(23, '2026-11-28 12:43:22.197+00', 'bounce', NULL, 0.00, 0.00, NULL, NULL, 1.00, 'The account is closed', NULL, NULL, 22, NULL, NULL, NULL, 2);
INSERT INTO marketplace_hit (id, hit_id, question, annotation, max_assignments, created_at, expires_at, expired, status, reviewable_at, n_accepted, n_submitted, n_approved, n_rejected, held, hit_type_id, requester_id) VALUES
	(4, '3AUS9BMQKTZ5E7NQY28ZCHP35BR4RU', '<HTMLQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"><HTMLContent><![CDATA[<!doctype html><form><input name=''answer''></form>]]></HTMLContent><FrameHeight>450</FrameHeight></HTMLQuestion>', '', 1, '2026-11-28 12:43:21.9+00', '2026-11-28 13:43:21.9+00', false, 'Assignable', NULL, 0, 0, 0, 0, 1.20, 4, 1),
	(5, '3QPE0D8QIDKQ0I15HW6YLXHKANYFKM', '<HTMLQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"><HTMLContent><![CDATA[<!doctype html><form><input name=''answer''></form>]]></HTMLContent><FrameHeight>450</FrameHeight></HTMLQuestion>', '', 1, '2026-11-28 12:43:21.959+00', '2026-11-28 12:43:21.977+00', true, 'Disposed', '2026-11-28 12:43:21.977+00', 0, 0, 0, 0, 0.00, 5, 1),
	(6, '3HPPMHBXN1GUM4HLW063R0VVHDK0QV', '<HTMLQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"><HTMLContent><![CDATA[<!doctype html><form><input name=''answer''></form>]]></HTMLContent><FrameHeight>450</FrameHeight></HTMLQuestion>', '', 1, '2026-11-28 12:43:22.022+00', '2026-11-28 13:43:22.022+00', false, 'Assignable', NULL, 0, 0, 0, 0, 1.20, 6, 1),
	(7, '3TL1W40K2E4N3A60WSPNC5RY0WHZH5', '<HTMLQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"><HTMLContent><![CDATA[<!doctype html><form><input name=''answer''></form>]]></HTMLContent><FrameHeight>450</FrameHeight></HTMLQuestion>', '', 1, '2026-11-28 12:43:22.043+00', '2026-11-28 12:43:22.063+00', true, 'Reviewable', '2026-11-28 12:43:22.066+00', 0, 0, 0, 0, 0.00, 7, 2),
	(1, '3Z77Z5VNO7BRQTRTOGTG6BJVFPSJ9I', '<HTMLQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"><HTMLContent><![CDATA[<!doctype html><form><input name=''answer''></form>]]></HTMLContent><FrameHeight>450</FrameHeight></HTMLQuestion>', '', 4, '2026-11-28 12:43:21.529+00', '2026-11-29 12:43:21.529+00', false, 'Assignable', NULL, 0, 0, 2, 1, 1.20, 1, 1),
	(2, '3ITCBI0ZU5ZT2ZEAM8T64UCCHYRE8U', '<HTMLQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"><HTMLContent><![CDATA[<!doctype html><form><input name=''answer''></form>]]></HTMLContent><FrameHeight>450</FrameHeight></HTMLQuestion>', '', 1, '2026-11-28 12:43:21.809+00', '2026-11-28 13:43:21.809+00', false, 'Unassignable', NULL, 1, 0, 0, 0, 1.20, 2, 1),
	(3, '3K3ZU4D8SEXV6EP6P4VYYU4RJ6MUL6', '<HTMLQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd"><HTMLContent><![CDATA[<!doctype html><form><input name=''answer''></form>]]></HTMLContent><FrameHeight>450</FrameHeight></HTMLQuestion>', '', 1, '2026-11-28 12:43:21.851+00', '2026-11-28 13:43:21.851+00', false, 'Reviewable', '2026-11-28 12:43:21.881+00', 0, 1, 0, 0, 1.20, 3, 1);
INSERT INTO marketplace_hittype (id, type_id, group_id, fingerprint, title, description, keywords, reward, bonus_up_to, assignment_seconds, auto_approval_seconds, requirements, created_at, retired_at, requester_id) VALUES
	(1, '3U0D3PYFN2SXUJ85I8MIRHFMLDT3A8', '35CXKLLGA3JQBJUJJ9MZ7ZK5XZN7FU', '230297e83524dc3c8a6f6fd045be5f3360998bbd7a3ed9d60efe65f416c80d2c', 'Compare', 'Compare two passages, thirteen times', 'search, reading', 1.00, 0.00, 600, 259200, '[]', '2026-11-28 12:43:21.526+00', NULL, 1),
	(2, '3PCQ76KOX4A0UYIQOFS094R0TFDRKK', '38JQ7EBAHZQMGX4LGLQITUFYGMMOJP', 'e162e2773cc91b026c69c049c3d3a44879b7536980ea1bb82da611072a791dfc', 'At work', 'Compare two passages, thirteen times', 'search, reading', 1.00, 0.00, 600, 259200, '[]', '2026-11-28 12:43:21.807+00', NULL, 1),
	(3, '3URPQ509VIS0PDQTRYCVRTYU5X7QLQ', '3KFM6ZOO4JDSILNX9FWF2BK2JP97HL', 'bbdea564617b6d38fcbc792d89938d7b80117118f419eeabf7bb9032acada68b', 'Waits for a decision', 'Compare two passages, thirteen times', 'search, reading', 1.00, 0.00, 600, 259200, '[]', '2026-11-28 12:43:21.849+00', NULL, 1),
	(4, '3XWUKRSPCEEM6ME7OCOVRJE0HU0HYM', '3MAPEL54R6K1FNLVXDPTCDOYWH9YSE', 'b4447d1c24626940fcc920da9ef7c4abe4b48d434b21c35eb75e7d819ad6b726', 'Given back', 'Compare two passages, thirteen times', 'search, reading', 1.00, 0.00, 600, 259200, '[]', '2026-11-28 12:43:21.898+00', NULL, 1),
	(5, '380P3NBLJ0EZD5OI8PRKDRR150GELC', '3F7IYLKDHWXSBAQZXEGELE35P6JB5N', '10cf06cefc9fb95be9e367a3bdce0cce7b538464c6665f3e6c61d2cf4f4b5784', 'Over', 'Compare two passages, thirteen times', 'search, reading', 1.00, 0.00, 600, 259200, '[]', '2026-11-28 12:43:21.956+00', NULL, 1),
	(6, '342VJC57NWB9FCZ1Y62ZCVZH3F7IO4', '39TX2WWG4SM9AKGS5QOHS4YM4K9396', 'f69f625b352ca3611fc916cfaba19215a37aa78525b7ea15f9daaaf6770b455d', 'For readers', 'Compare two passages, thirteen times', 'reading, bonus-up-to-1.90', 1.00, 1.90, 600, 259200, '[{"Comparator": "Exists", "ActionsGuarded": "DiscoverPreviewAndAccept", "QualificationTypeId": "3YYW91S0C83TAU7Y75FTQCXBZQ6BMJ"}]', '2026-11-28 12:43:22.019+00', NULL, 1),
	(7, '3M43HWZ0AJ8JHZP6XJYN0I2UQN7538', '3WVUAD8QVN9FPENQSUTXYWD34PKJQV', '51344738b75bb4799381979de58a30b64567d3458f1679c219db4088d38500f8', 'Ended by the operator', 'Compare two passages, thirteen times', 'search, reading', 1.00, 0.00, 600, 259200, '[]', '2026-11-28 12:43:22.042+00', NULL, 2);
INSERT INTO marketplace_invitation (id, email, token_digest, note, vouched_approved, vouched_rejected, created_at, expires_at, used_by_id) VALUES
	(1, '', '597bcf79b087d4c4121e44131f777f6dac1c94de906a68434907554f85aebe72', '', 0, 0, '2026-11-28 12:43:21.288+00', '2026-12-12 12:43:21.288+00', 1),
	(2, '', 'e257e1d1cd858c87c1b87d56fe50715a7e9cb48606dca23b04ede0b11ad34c62', '', 0, 0, '2026-11-28 12:43:21.354+00', '2026-12-12 12:43:21.354+00', 2),
	(3, '', 'dc328df32e562597e54f2d914b5064ed941cf4d0e31d69c623a66aed696ccd42', '', 0, 0, '2026-11-28 12:43:21.375+00', '2026-12-12 12:43:21.375+00', 3),
	(4, 'wu@example.org', 'b037afe5d9ef83d437cdc8ddb862be7359dc9c09414338009e7fbf16686a85cd', '', 0, 0, '2026-11-28 12:43:21.401+00', '2026-12-12 12:43:21.401+00', NULL);
INSERT INTO marketplace_message (id, direction, subject, text, sent_at, read_at, hit_id, requester_id, worker_id) VALUES
	(1, 'worker', 'You have been granted a qualification', 'You now have: Reader
Reads', '2026-11-28 12:43:21.478+00', NULL, NULL, 1, 1),
	(2, 'worker', 'You have been granted a qualification', 'You now have: Reader
Reads', '2026-11-28 12:43:21.491+00', NULL, NULL, 1, 2),
	(3, 'worker', 'More soon', 'Come again', '2026-11-28 12:43:22.126+00', NULL, NULL, 1, 1),
	(4, 'requester', 'When?', 'When do you pay?', '2026-11-28 12:43:22.143+00', NULL, 1, 1, 1);
INSERT INTO marketplace_notification (id, destination, body, made_at, tries, next_try_at, delivered_at, key_id) VALUES
	(1, 'https://example.org/events', '{"Events": [{"HITId": "3Z77Z5VNO7BRQTRTOGTG6BJVFPSJ9I", "EventType": "AssignmentSubmitted", "HITTypeId": "3U0D3PYFN2SXUJ85I8MIRHFMLDT3A8", "AssignmentId": "3SJKVXNAY3G71EAUJXJ03652KHI2KF", "EventTimestamp": "2026-11-28T12:43:21Z"}], "CustomerId": "RMTW58K4Y4BH8N", "EventDocId": "31Q7EKCU4NM3O0A5CKBEGGHQBT3VUT", "EventDocVersion": "2014-08-15"}', '2026-11-28 12:43:21.579+00', 0, '2026-11-28 12:43:21.579+00', NULL, 1),
	(2, 'https://example.org/events', '{"Events": [{"HITId": "3Z77Z5VNO7BRQTRTOGTG6BJVFPSJ9I", "EventType": "AssignmentSubmitted", "HITTypeId": "3U0D3PYFN2SXUJ85I8MIRHFMLDT3A8", "AssignmentId": "3YU6X5SDOYSOUEOXOSI6O0D6J7D4GK", "EventTimestamp": "2026-11-28T12:43:21Z"}], "CustomerId": "RMTW58K4Y4BH8N", "EventDocId": "3I2YGLRH3USANGC9BBB7EHASVESZ2W", "EventDocVersion": "2014-08-15"}', '2026-11-28 12:43:21.615+00', 0, '2026-11-28 12:43:21.615+00', NULL, 1),
	(3, 'https://example.org/events', '{"Events": [{"HITId": "3Z77Z5VNO7BRQTRTOGTG6BJVFPSJ9I", "EventType": "AssignmentSubmitted", "HITTypeId": "3U0D3PYFN2SXUJ85I8MIRHFMLDT3A8", "AssignmentId": "3YN75GQ8P7V2DMLF2PFKH0IBXDUC6M", "EventTimestamp": "2026-11-28T12:43:21Z"}], "CustomerId": "RMTW58K4Y4BH8N", "EventDocId": "362PWNEWQ8PGVCSMEYIPN2L4IEDI0R", "EventDocVersion": "2014-08-15"}', '2026-11-28 12:43:21.648+00', 0, '2026-11-28 12:43:21.648+00', NULL, 1);
INSERT INTO marketplace_notificationsubscription (id, destination, transport, version, events, active, hit_type_id, key_id) VALUES
	(1, 'https://example.org/events', 'SNS', '2006-05-05', '{AssignmentSubmitted}', true, 1, 1);
INSERT INTO marketplace_payoutlist (id, reference, made_at) VALUES
	(1, 'P-2f97ac20e9', '2026-11-28 12:43:22.178+00');
INSERT INTO marketplace_qualification (id, value, status, granted_at, reason, qualification_type_id, worker_id) VALUES
	(1, 9, 'Granted', '2026-11-28 12:43:21.474+00', '', 1, 1),
	(2, 9, 'Revoked', '2026-11-28 12:43:21.49+00', 'Left', 1, 2);
INSERT INTO marketplace_qualificationrequest (id, request_id, state, submitted_at, decided_at, reason, qualification_type_id, worker_id) VALUES
	(1, '3619GPCPHGY8NNI8Y1MEGBJHS9ZQNL', 'pending', '2026-11-28 12:43:21.51+00', NULL, '', 1, 3);
INSERT INTO marketplace_qualificationtype (id, type_id, name, keywords, description, status, retry_seconds, auto_granted, auto_value, created_at, retired_at, requester_id) VALUES
	(1, '3YYW91S0C83TAU7Y75FTQCXBZQ6BMJ', 'Reader', '', 'Reads', 'Active', NULL, false, NULL, '2026-11-28 12:43:21.459+00', NULL, 1);
INSERT INTO marketplace_requester (id, account_id, name, email, is_active, created_at) VALUES
	(1, 'RMTW58K4Y4BH8N', 'requester 2', '', true, '2026-11-28 12:43:21.174+00'),
	(2, 'R6JC8VVWHJPGG6', 'requester 3', '', false, '2026-11-28 12:43:21.273+00');
INSERT INTO marketplace_uniquerequesttoken (id, operation, token, made_at, subject, requester_id) VALUES
	(1, 'CreateHIT', 'once', '2026-11-28 12:43:21.522+00', '3Z77Z5VNO7BRQTRTOGTG6BJVFPSJ9I', 1),
	(2, 'SendBonus', 'b', '2026-11-28 12:43:21.686+00', 'ffd0296a-c645-41ae-8e44-8faf94139b34', 1);
INSERT INTO marketplace_worker (id, worker_id, status, country, subdivision, adult_content, is_master, vouched_approved, vouched_rejected, registered_at, erased_at, account_id) VALUES
	(1, 'AMOO9AZB7FE5YQ', 'active', 'US', '', false, false, 0, 0, '2026-11-28 12:43:21.333+00', NULL, 2),
	(2, 'ALIIXNPMN721C7', 'active', 'US', '', false, false, 0, 0, '2026-11-28 12:43:21.358+00', NULL, 3),
	(3, 'AV0R917KQ6T4QY', 'active', 'US', '', false, false, 0, 0, '2026-11-28 12:43:21.38+00', NULL, 4);
INSERT INTO marketplace_workerblock (id, reason, blocked_at, requester_id, worker_id) VALUES
	(1, 'Too quick', '2026-11-28 12:43:22.105+00', 1, 3);
SELECT pg_catalog.setval('marketplace_accesskey_id_seq', 3, true);
SELECT pg_catalog.setval('marketplace_account_id_seq', 4, true);
SELECT pg_catalog.setval('marketplace_apicall_id_seq', 20, true);
SELECT pg_catalog.setval('marketplace_assignment_id_seq', 6, true);
SELECT pg_catalog.setval('marketplace_auditevent_id_seq', 8, true);
SELECT pg_catalog.setval('marketplace_bonuspayment_id_seq', 1, true);
SELECT pg_catalog.setval('marketplace_dispute_id_seq', 2, true);
SELECT pg_catalog.setval('marketplace_entry_id_seq', 23, true);
SELECT pg_catalog.setval('marketplace_hit_id_seq', 7, true);
SELECT pg_catalog.setval('marketplace_hittype_id_seq', 7, true);
SELECT pg_catalog.setval('marketplace_invitation_id_seq', 4, true);
SELECT pg_catalog.setval('marketplace_message_id_seq', 4, true);
SELECT pg_catalog.setval('marketplace_notification_id_seq', 3, true);
SELECT pg_catalog.setval('marketplace_notificationsubscription_id_seq', 1, true);
SELECT pg_catalog.setval('marketplace_payoutlist_id_seq', 1, true);
SELECT pg_catalog.setval('marketplace_qualification_id_seq', 2, true);
SELECT pg_catalog.setval('marketplace_qualificationrequest_id_seq', 1, true);
SELECT pg_catalog.setval('marketplace_qualificationtype_id_seq', 1, true);
SELECT pg_catalog.setval('marketplace_requester_id_seq', 2, true);
SELECT pg_catalog.setval('marketplace_uniquerequesttoken_id_seq', 2, true);
SELECT pg_catalog.setval('marketplace_worker_id_seq', 3, true);
SELECT pg_catalog.setval('marketplace_workerblock_id_seq', 1, true);
