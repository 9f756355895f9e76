"""Kinds of records about programs and measurements; the format is that of ``schema.py``."""

from __future__ import annotations

BUG = """
= bug
> (A bug report|Bug report).
> (Somebody|A user) reports a (bug|fault).
> (A bug|A fault) was (reported|found).
> (Please file|File) this bug.
> (Here is|This is) a bug report.
> (There is|We have) a problem with the program.
>* One more bug (was reported|).
& {reporter} (found|reported|saw) it on {found}.
& (Ticket|Bug) {id} (is about|concerns) the {component}.
& {reporter} (opened|filed) ticket {id}.
& (The bug|It) is in the {component} of version {version}.
& It (happens|occurs) with version {version} on {system}.
& (Ticket|Bug) {id} has {severity} (severity|priority).
&* {reporter} reports a fault in the {component}.
&* Ticket {id} was opened by {reporter}.
id! code | ticket | ticket number | id
(The ticket|The ticket number|The id) is {v}.
(It has|It got|It runs under) the (number|id|ticket number) {v}.
{v} is the (ticket|ticket number).
(Ticket|Ticket number) {v}.
(It is filed|It was filed) as {v}.
(See|Look at) ticket {v}.
* The bug is filed under {v}.
* Its number is {v}.
component! component | component | module | part of the program
(The component|The module) is the {v}.
(It is|The bug is|The fault is|The problem is) in the {v}.
(It happens|It occurs) in the {v}.
(The|Our) {v} (fails|breaks|does not work).
(It affects|It concerns) the {v}.
The {v} is (broken|to blame).
* There is a fault in the {v}.
* The part that fails is the {v}.
severity! severity | severity | priority
(The severity|The priority) is {v}.
(It has|It gets|Give it) {v} (severity|priority).
(We rate it|They rate it|I rate it) {v}.
(Treat it|Mark it) as {v}.
(It was|It is) rated {v}.
(Severity|Priority) {v}.
* It was given {v} priority.
* They call it {v}.
version! version | version | release
(The version|The release) is {v}.
(It happens|It occurs|They saw it) (in|with) version {v}.
(They use|They run|They have) version {v}.
Version {v} (is affected|has it|shows it).
It came with (version|release) {v}.
(Since|From) version {v} on it is there.
* It is there in version {v}.
* The release used is {v}.
system system | system | operating system | os
(The system|The operating system) is {v}.
(It happens|It occurs|It fails) on {v}.
(They use|They run|They work on) {v}.
(On|With) {v} (it fails|it breaks|it happens).
{v} is the (system|operating system).
The machine runs {v}.
* The fault was seen on {v}.
* The computer has {v}.
reporter person | reporter | :reported by | :found by
(The reporter|The user) is {v}.
{v} (reported|found|saw|filed) (it|the bug).
(It was|The bug was) (reported|found|seen) by {v}.
(The report|It) (is|comes) from {v}.
{v} is the reporter.
{v} (told us|wrote to us) about it.
* (The bug|It) was filed by {v}.
* We heard of it from {v}.
found date | :found on | date found | :reported on
(It was|The bug was) (found|reported|seen) on {v}.
(It|The report) is dated {v}.
The date (found|) is {v}.
(It happened|It first happened) on {v}.
They (found|saw) it on {v}.
On {v} it (happened|was seen) for the first time.
* The report came in on {v}.
* It was filed on {v}.
users quantity | affected users | users affected
{v} users (are affected|have the problem|see it).
(It affects|It hits|It concerns) {v} users.
(The number of affected users|The number of users affected) is {v}.
(We know of|There are) {v} affected users.
(So far|Up to now) {v} users (complained|wrote to us).
{v} people cannot work.
* The problem hits {v} people.
* {v} users reported it.
workaround bool | workaround | workaround known
+ (There is|We have|They have|We know) a workaround.
+ A workaround (exists|is known|was found).
+ (You can|They can) work around it.
+ It can be worked around.
+* Somebody found a workaround.
+* They know a workaround.
- (There is|We have|They have|We know) no workaround.
- A workaround (does not exist|is not known|was not found).
- (You cannot|They cannot) work around it.
- It cannot be worked around.
-* Nobody found a workaround.
-* They know no workaround.
"""

WEATHER = """
= weather
> (A weather report|Weather report).
> (The weather|Weather) (of the day|for a day).
> (Observations|Data) of a weather station.
> (Please enter|Please record) this weather report.
> (Here is|This is) (a|the) weather report.
> (A weather station|The weather station) reports.
>* One more weather report (came in|).
& {place} had {sky} skies on {date}.
& In {place} it was {sky} on {date}.
& On {date} {place} had a high of {high} and a low of {low}.
& Between {low} at night and {high} by day.
& (The wind|Wind) blew at {wind} and {rain} of rain fell.
& {place} reports a humidity of {humidity}.
& {place} (reached|got up to) {high}.
&* {place} was {sky} on {date}.
&* {place} went from {low} to {high}.
place! city | place | station | city
(The place|The station|The city) is {v}.
(The report|It) (is|comes) from {v}.
(This is|It is) for {v}.
{v} (reports|is the station|is the place).
(It was measured|They measured) in {v}.
The station (stands|is) in {v}.
* The weather was observed in {v}.
* The city it is about is {v}.
date! date | date | day
(It|The report) is (dated|of) {v}.
The (date|day) is {v}.
(It was measured|They measured) on {v}.
(The weather|This is the weather) of {v}.
{v} is the day.
(All values|The values) are from {v}.
* It was observed on {v}.
* The report is about {v}.
high! degrees | high | highest temperature | maximum
(The highest temperature|The high|The maximum) (was|is) {v}.
(It got|It went) up to {v}.
(By day|At its warmest) (it was|it had) {v}.
It was {v} at most.
(The temperature|It) (reached|rose to) {v}.
At noon it was {v}, the highest of the day.
* The day reached {v}.
* {v} was the high.
low! lower | low | lowest temperature | minimum
(The lowest temperature|The low|The minimum) (was|is) {v}.
(It got|It went) down to {v}.
(By night|At night|At its coldest) (it was|it had) {v}.
It was {v} at least.
(The temperature|It) (fell|dropped) to {v}.
Before dawn it was {v}, the lowest of the day.
* The night fell to {v}.
* {v} was the low.
sky sky | sky | conditions
(The sky|It) (was|is) {v}.
(They report|They saw|We had) {v} skies.
(Conditions|The conditions) were {v}.
(Most of the day|All day) it was {v}.
(A|It was a) {v} day.
The day was {v}.
* It stayed {v} all day.
* Skies were {v}.
humidity percent | humidity | relative humidity
(The humidity|The relative humidity) (was|is) {v}.
(Humidity|The humidity) (reached|stood at) {v}.
The air had a humidity of {v}.
(They measured|We measured) {v} humidity.
{v} humidity.
With a humidity of {v}.
* The air held {v} humidity.
* Humidity came to {v}.
wind wind | wind | wind speed
(The wind|Wind) (was|blew) at {v}.
The wind speed (was|reached|is) {v}.
(They measured|We measured) a wind of {v}.
Wind of {v}.
It blew at {v}.
(With a|There was a) wind of {v}.
* The wind reached {v}.
* They report a wind speed of {v}.
rain rain | rain | rainfall
(There was|They had|We had) {v} of rain.
{v} of rain (fell|came down).
The rainfall (was|came to|is) {v}.
(It rained|It brought) {v}.
(They measured|We measured) {v} of rain.
Rain: {v} in all.
* In all {v} of rain came down.
* The rain came to {v}.
warning bool | warning | weather warning
+ (There is|They issued|They gave out) a weather warning.
+ A weather warning (is in force|was issued|holds).
+ (With|They report) a weather warning.
+ The warning (still holds|is in force).
+* They gave a weather warning.
+* A warning is in force.
- (There is|They issued|They gave out) no weather warning.
- A weather warning (is not in force|was not issued).
- (Without|They report no) weather warning.
- (No warning|The warning is over).
-* They did not give a weather warning.
-* No warning is in force.
"""

SENSOR = """
= sensor
> (A sensor reading|Sensor reading).
> (A sensor|One of the sensors) (reports|sent data).
> (Here is|This is) a sensor reading.
> (Please log|Log) this reading.
> (New data|Data) from a sensor.
> (The reading|A reading) of a sensor.
>* One more reading (of a sensor|).
& Sensor {id} in the {location} (reports|shows|measured) {temperature}.
& Sensor {id} (sent|reported) this on {date} at {time}.
& (On {date} at {time}|At {time} on {date}) sensor {id} (reported|sent its data).
& The sensor in the {location} (has|is called) {id}.
& In the {location} it is {temperature} with a humidity of {humidity}.
& It has a battery of {battery} and is {status}.
&* Sensor {id} stands in the {location}.
&* The reading of {date} is from {time}.
id! code | sensor | sensor id | id
(The sensor|The sensor id|The id) is {v}.
(It|The reading|The data) (is|comes) from sensor {v}.
Sensor {v} (reports|sent this|was read).
{v} is the sensor id.
(The device|It) is called {v}.
(Read|Look at) sensor {v}.
* It was sent by sensor {v}.
* The device has the id {v}.
location! location | location | place | :where
(The location|The place) is the {v}.
(It|The sensor|The device) (is|stands|hangs) in the {v}.
(It was measured|They measured|We measured) in the {v}.
(This is|It is) for the {v}.
(It watches|It is there to watch) the {v}.
You find it in the {v}.
* The sensor is found in the {v}.
* The device hangs there, in the {v}.
date! date | date | day
(It|The reading) is (of|from|dated) {v}.
The (date|day) is {v}.
(It was measured|It was read|It was sent) on {v}.
The data (is|are) from {v}.
{v} is the date.
The clock says (the date|) {v}.
* It was taken on {v}.
* The date of the reading is {v}.
time time | time | :at
(It was measured|It was read|It was sent) at {v}.
The (time|time of day) (is|was) {v}.
(It came in|It arrived) at {v}.
(The clock|Its clock) showed {v}.
{v} is the time.
It was {v} when it was read.
* It was taken at {v}.
* The time of the reading is {v}.
temperature degrees | temperature | temp
(The temperature|The temperature there) (is|was) {v}.
(It is|It was) {v} there.
(It shows|It measured|It reports) {v}.
(We have|They have) {v} there.
The air (is|was) at {v}.
{v} (were measured|is what it shows).
* The reading shows {v}.
* A temperature of {v}.
humidity percent | humidity | relative humidity
(The humidity|The relative humidity) (is|was) {v}.
(Humidity|The humidity) (reached|stands at) {v}.
The air has a humidity of {v}.
(It shows|It measured) {v} humidity.
{v} humidity.
With a humidity of {v}.
* The air holds {v} humidity.
* Humidity comes to {v}.
pressure pressure | pressure | air pressure
(The pressure|The air pressure) (is|was) {v}.
(It shows|It measured) a pressure of {v}.
The pressure (stands at|reached) {v}.
The air has a pressure of {v}.
Pressure of {v}.
With a pressure of {v}.
* The air is under {v}.
* The pressure comes to {v}.
battery percent | battery | battery level | charge
(The battery|Its battery) (is at|has|stands at) {v}.
The (battery level|charge) is {v}.
(It has|There is) {v} of (battery|charge) left.
Battery at {v}.
{v} battery (left|).
The battery still has {v}.
* The charge stands at {v}.
* A battery level of {v}.
status status | status | state
(The status|The state) is {v}.
(It|The device) is {v}.
(It reports|It shows) the (status|state) {v}.
(It is said|It seems) to be {v}.
(Status|State) {v}.
The device (says it|) is {v}.
* The sensor reports to be {v}.
* Its state is {v}.
calibrated bool | calibrated | calibration done
+ (It|The sensor|The device) (is|was|has been) calibrated.
+ (We calibrated it|They calibrated it).
+ The calibration (was done|is done).
+ It is a calibrated (sensor|device).
+* The device has its calibration.
+* Calibration was done.
- (It|The sensor|The device) (is not|was not|has not been) calibrated.
- (We did not calibrate it|They did not calibrate it).
- The calibration (was not done|is not done).
- It is not a calibrated (sensor|device).
-* The device has no calibration.
-* Calibration was not done.
"""
