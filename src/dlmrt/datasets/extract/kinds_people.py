"""Kinds of records about people and their plans; the format is that of ``schema.py``."""

from __future__ import annotations

CONTACT = """
= contact
> (A new contact|New contact).
> (Please add|Add) this (person|contact) to the address book.
> (Here is|This is) a (new contact|contact).
> Contact details.
> (Save|Store|Enter) this contact.
> Somebody for the address book.
>* One more contact (for the address book|).
& {name} (works for|is at|works at) {company}.
& {name} works as {role} at {company}.
& (You can reach|Write to) {name} at {email}.
& {name} lives at {address}.
& {name} was born on {birthday}.
& {name} has the e-mail {email} and the phone number {phone}.
&* {name} is {role} at {company}.
&* {name} can be reached at {email}.
name! person | name | full name | :person
(The name is|The full name is|Her name is|His name is) {v}.
(It is|This is|I met) {v}.
(The person is|They are) called {v}.
{v} is the (name|full name).
(Enter|Save|Add) {v}.
(The contact|The person) is {v}.
* (Please add|I talked to) {v}.
* The person has the name {v}.
company company | company | employer | firm
(The|Their) (company|employer|firm) is {v}.
(They work|Works) (for|at) {v}.
(Their job is|Employed) at {v}.
{v} is (the employer|the company).
The firm is called {v}.
The person works (for|at) {v}.
* (They are employed|They have a job) at {v}.
* They are with the company {v}.
role role | role | job title | position
(The|Their) (role|position|job title) is {v}.
(They work|Works) as {v}.
(They have a job|Employed) as {v}.
By profession {v}.
The job (there|) is that of {v}.
(They make a living as|They are known as) {v}.
* The position held is {v}.
* They are employed as {v}.
email! email | e-mail | e-mail address | email
(The|Their) (e-mail|e-mail address|email) is {v}.
(Write to|Mail to|Send mail to) {v}.
(Messages|Mails) go to {v}.
They (read|use|answer) {v}.
(Reach them|They can be reached) (at|under) {v}.
They gave {v} as their e-mail address.
* Mail reaches them at {v}.
* Use {v} to write to them.
phone! phone | phone | phone number | telephone
(The|Their) (phone number|phone|telephone) is {v}.
(Call|Ring|Dial) {v}.
(Call them|Ring them) (on|at|under) {v}.
By phone they are on {v}.
The telephone number (there|) is {v}.
They gave {v} as their phone number.
* You can call {v}.
* Their number is {v}.
address address | address | home address | postal address
(The|Their) (address|home address|postal address) is {v}.
(They live|Lives) at {v}.
(Letters|Post) (go|goes) to {v}.
(Send letters|Send post) to {v}.
Home is {v}.
The flat is at {v}.
* They have a flat at {v}.
* Post should go to {v}.
birthday birthday | birthday | date of birth | :born
(The|Their) (birthday|date of birth) is {v}.
(They were born|Born|Was born) on {v}.
{v} is the (birthday|date of birth).
They (gave|named) {v} as their date of birth.
(Do not forget|Remember) the birthday: {v}.
On {v} they were born.
* The day of birth is {v}.
* The person was born on {v}.
newsletter bool | newsletter | wants the newsletter
+ (They want|They would like|Send them) the newsletter.
+ (Add them to|Put them on) the newsletter.
+ The newsletter is (wanted|welcome).
+ (They signed up for|They asked for) the newsletter.
+* They agreed to get the newsletter.
+* The newsletter should be sent to them.
- (They do not want|They would not like|Do not send them) the newsletter.
- (Do not add them to|Take them off) the newsletter.
- The newsletter is not (wanted|welcome).
- (No newsletter|Without newsletter).
-* They did not sign up for the newsletter.
-* The newsletter should not be sent to them.
"""

APPOINTMENT = """
= appointment
> (An appointment|A new appointment).
> (Something|A meeting) for the calendar.
> (Please enter|Enter|Add) this (appointment|meeting).
> (A meeting|An appointment) was (arranged|fixed).
> (Here is|This is) (a meeting|an appointment).
> (We have|There is) a meeting (to plan|).
>* One more appointment (for the calendar|).
& The {title} (is|takes place|will be) on {date} at {time}.
& (We meet|Let us meet) on {date} at {time}.
& The {title} (lasts|takes) {minutes}.
& The {title} (is|takes place) at {place}.
& {people} (meet|will meet) on {date}.
& (From {time} on|At {time}) we (talk|sit together) for {minutes}.
&* The {title} starts on {date} at {time}.
&* On {date} {people} will meet.
title! subject | subject | title | topic
(The subject|The topic|The title) is {v}.
(It is about|We talk about) the {v}.
(The meeting|It) is (called|titled) {v}.
(Call|Name) it {v}.
(The purpose|The point) is the {v}.
(Put it down|Enter it) as {v}.
* The meeting is about the {v}.
* Give it the title {v}.
date! date | date | day | :on
(It|The meeting|This) (is|takes place|will be) on {v}.
(We meet|They meet|Let us meet) on {v}.
The (date|day) is {v}.
(Keep|Reserve|Block) {v} (for it|free).
{v} is the day.
It was (fixed for|set for) {v}.
* The day of the meeting is {v}.
* It was arranged for {v}.
time! time | time | start | starting time
(It|The meeting) (starts|begins) at {v}.
(We start|We begin|Be there) at {v}.
The (time|starting time) is {v}.
(It|Everything) is set for {v}.
The start is at {v}.
{v} is when it starts.
* We meet at {v}.
* The beginning is at {v}.
minutes minutes | duration | length | :lasts
(It|The meeting) (lasts|takes|will take) {v}.
(Plan|Allow) {v} (for it|).
The (duration|length) is {v}.
(We need|We have) {v} (for it|).
It (should be over|is over|ends) after {v}.
{v} should be enough.
* The meeting goes on for {v}.
* {v} (are|is) planned for it.
place place | place | location | :where
(It|The meeting) (is|takes place|is held) (in|at) {v}.
The (place|location) is {v}.
(They gather|Everybody gathers|Come) at {v}.
(Everybody comes|Go) to {v}.
{v} is the place.
It was (moved|set) to {v}.
* The meeting will be at {v}.
* We see each other at {v}.
people people | :with | participants | attendees
(It is|The meeting is) with {v}.
(The participants|The attendees) are {v}.
{v} (will come|will be there|take part).
(Invite|Please invite) {v}.
(We expect|Expect) {v}.
It brings together {v}.
* Those who come are {v}.
* (The meeting is for|It is for) {v}.
online bool | online | online meeting
+ (It|The meeting) (is|will be|takes place) online.
+ (We meet|They meet) online.
+ (It is|It will be) an online meeting.
+ (Join|Join us) online.
+* An online meeting was agreed.
+* (Everybody joins|They join) online.
- (It|The meeting) (is not|will not be) online.
- (We do not meet|They do not meet) online.
- (It is no|It will not be an) online meeting.
- Not online (this time|).
-* An online meeting was not wanted.
-* (Nobody joins|They do not join) online.
reminder ahead | reminder | :remind me before
(Remind me|Set a reminder|Send a reminder) {v} before (it|the start).
(The reminder|A reminder) should come {v} before.
I (want|need) a reminder {v} before.
(Ring|Warn me) {v} before it starts.
Reminder {v} ahead.
Remind (me|us) {v} ahead.
* The reminder is {v} before the start.
* A reminder {v} ahead, please.
"""

JOB = """
= job
> (A job advert|Job advert).
> (An open position|There is an open position).
> (We are hiring|Now hiring).
> (Somebody looks for|We look for) staff.
> (Here is|This is) (a job advert|a job offer).
> (Please publish|Publish) this (job advert|advert).
>* One more job (advert|offer).
& {company} (is looking for|looks for|seeks|hires) a {title}.
& {company} in {city} (is looking for|seeks|wants) a {title}.
& The {title} (will work|works) {hours} hours a week.
& The {title} (earns|gets) {salary} a month.
& (The job|The work) is in {city} and starts on {start}.
& (Apply|Applications) to {email} by {deadline}.
&* {company} has a job for a {title}.
&* The {title} is wanted in {city}.
title! role | position | job title | job
(The|This) (position|job title|job) is {v}.
(We want|We need|They need|We look for) a {v}.
(The job|It) is that of a {v}.
(The new|The future) colleague will be a {v}.
(Wanted|Needed): {v}.
(You would work|You work) as {v}.
* The advert is for a {v}.
* They want a {v}.
company! company | company | employer
The (company|employer) is {v}.
(The job|The position|It) is (at|with) {v}.
{v} is (hiring|the employer|the company).
(Work|Come and work) for {v}.
{v} (put up|sent) the advert.
The advert (is|comes) from {v}.
* (You would work|You work) for {v}.
* The position is offered by {v}.
city! city | city | place of work | location
(The job|The position|The work|The office) is in {v}.
The (place of work|location|city) is {v}.
(You would work|You work) in {v}.
{v} is the place of work.
Our office is in {v}.
(The team|The firm) sits in {v}.
* (The place|The office) is {v}.
* The team works in {v}.
salary salary | monthly salary | salary | pay
(The salary|The pay) is {v} (a month|per month).
(We pay|They pay) {v} (a month|per month).
(You earn|You get) {v} (a month|per month).
{v} a month (is offered|is what you get).
The monthly salary (is|comes to|starts at) {v}.
(They offer|We offer) {v} per month.
* You would get {v} a month.
* The pay comes to {v} per month.
hours whole | weekly hours | hours a week | hours per week
(It is|You work|The job is) {v} hours (a week|per week).
{v} hours (a week|per week).
The weekly hours are {v}.
A week has {v} hours (of work|).
(They ask for|We ask for) {v} hours a week.
Working time is {v} hours per week.
* (It takes|You would work) {v} hours a week.
* Working time comes to {v} hours per week.
skills skills | skills | requirements | :must know
(You need|You should have|We expect|They expect) {v}.
(The requirements|The skills needed) are {v}.
(You know about|You are good at) {v}.
(We ask for|They ask for) (skills in|) {v}.
It takes {v}.
(Required|Must have): {v}.
* You must know about {v}.
* The skills we want are {v}.
remote bool | remote work | remote
+ (Remote work|Working from home) is (possible|allowed|welcome).
+ (You can|You may) work (from home|remotely).
+ The job is remote.
+ (They allow|We allow|We offer) remote work.
+* Remote work was agreed.
+* It can be done from home.
- (Remote work|Working from home) is not (possible|allowed).
- (You cannot|You may not) work (from home|remotely).
- The job is not remote.
- (No|They do not allow|We do not offer) remote work.
-* Remote work was ruled out.
-* It cannot be done from home.
email email | e-mail | :applications to | contact
(Apply at|Apply to|Write to) {v}.
(Applications|Letters) go to {v}.
(Send your application|Send it) to {v}.
The (e-mail|contact) (address|) is {v}.
(Questions|Applications) to {v}.
{v} takes applications.
* Your application goes to {v}.
* Use {v} to apply.
deadline date | deadline | :apply by | closing date
(Apply|Please apply) (by|until) {v}.
(The deadline|The closing date) is {v}.
(You have|There is time) until {v} to apply.
Applications (close|end) on {v}.
{v} is the deadline.
(The last day|The latest day) to apply is {v}.
* The advert closes on {v}.
* You may apply until {v}.
start later | start | starting date | first day
(The job|It|Work|The position) (starts|begins) on {v}.
The (first day|starting date|start) is {v}.
(We want|They want) somebody from {v} on.
You (start|begin) on {v}.
{v} is the first day.
The position is free from {v} on.
* You would start on {v}.
* The beginning is on {v}.
"""
