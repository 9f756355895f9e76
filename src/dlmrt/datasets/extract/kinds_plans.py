"""Kinds of records about travel, food and books; the format is that of ``schema.py``."""

from __future__ import annotations

TRIP = """
= trip
> (A trip|A journey) was booked.
> Travel plans.
> (Somebody is|A colleague is) travelling.
> (Please enter|Please record) this (trip|journey).
> (Here is|This is) a (trip|journey).
> (A ticket|A journey) (to enter|).
>* One more (trip|journey) (to enter|).
& {traveller} (travels|goes|is going) from {from} to {to}.
& {traveller} takes the {mode} to {to}.
& The {mode} (goes|runs) from {from} to {to}.
& The {mode} (leaves|departs) at {departure} and (arrives|gets in) at {arrival}.
& It leaves {from} on {date} at {departure}.
& {traveller} (travels|leaves) on {date}.
& {traveller} paid {fare} for the ticket.
&* {traveller} wants to get from {from} to {to}.
&* The {mode} leaves on {date} at {departure}.
traveller! person | traveller | passenger | name
(The traveller|The passenger) is {v}.
{v} is (travelling|going|the passenger).
(The ticket|It) is (for|in the name of) {v}.
(It was booked|A seat was booked) for {v}.
{v} (makes the trip|has the ticket).
The name on the ticket is {v}.
* The one who travels is {v}.
* {v} will be travelling.
mode! mode | means of travel | mode | :by
(It is|It will be) (a journey|a trip) by {v}.
(They go|They travel|The trip is) by {v}.
(They take|They booked) the {v}.
The means of travel is (the|) {v}.
(A ticket|A seat) for the {v}.
This time by {v}.
* They are going by {v}.
* The journey is by {v}.
from! city | :from | starting point | place of departure
(It|The trip|The journey) (starts|begins) in {v}.
(They leave|They depart|They start) from {v}.
(The starting point|The place of departure) is {v}.
{v} is the starting point.
(Departure|The departure) is from {v}.
They set out from {v}.
* The journey starts from {v}.
* They begin in {v}.
to! city | :to | destination | place of arrival
(It|The trip|The journey) (ends|finishes) in {v}.
(They go|They travel|They are going) to {v}.
The (destination|place of arrival) is {v}.
{v} is the destination.
(They want to get|They are on the way) to {v}.
They get off in {v}.
* The journey goes to {v}.
* They finish in {v}.
date! date | date | date of travel | day of travel
(They travel|They go|They leave|The trip is) on {v}.
The (date of travel|day of travel|date) is {v}.
(The ticket|It) is (valid|booked) for {v}.
(The day|The date) is {v}.
It is (on|all planned for) {v}.
{v} is the day of travel.
* The journey is on {v}.
* They will be travelling on {v}.
departure time | departure | departure time | :leaves at
(It|The trip) (leaves|departs) at {v}.
(Departure|The departure) is at {v}.
The (departure time|time of departure) is {v}.
(They leave|They depart|They set out) at {v}.
They have to be there by {v}, when it leaves.
{v} is the departure time.
* It is to leave at {v}.
* Leaving is at {v}.
arrival time | arrival | arrival time | :arrives at
(It|The trip) (arrives|gets in) at {v}.
(Arrival|The arrival) is at {v}.
The (arrival time|time of arrival) is {v}.
(They arrive|They get in|They will be there) at {v}.
They are picked up at {v}, when it arrives.
{v} is the arrival time.
* It is to arrive at {v}.
* They expect to arrive at {v}.
seat code | seat | seat number
(The seat|The seat number) is {v}.
(They have|They got|They booked) seat {v}.
{v} is the seat.
(Seat|Seat number) {v} (was reserved|is theirs).
They sit in seat {v}.
(Take|Look for) seat {v}.
* Seat {v} was booked.
* Their seat is {v}.
fare fare | fare | ticket price | price
(The fare|The ticket|The price) (is|was|comes to) {v}.
(It|The ticket|The trip) (cost|costs) {v}.
(They paid|They pay) {v} (for it|for the ticket|).
{v} was paid (for it|).
The price of the ticket is {v}.
(They got|They found) a ticket for {v}.
* A ticket is {v}.
* The fare paid is {v}.
bicycle bool | bicycle | takes a bicycle
+ (They take|They bring|With) a bicycle.
+ (A bicycle|A place for a bicycle) (is|was) (booked|needed).
+ (They need|They want|Reserve) a place for a bicycle.
+ A bicycle comes along.
+* They travel with a bicycle.
+* A bicycle will be taken along.
- (They do not take|They do not bring|Without|No) a bicycle.
- (A bicycle|A place for a bicycle) (is not|was not) (booked|needed).
- (They do not need|They do not want) a place for a bicycle.
- The bicycle stays at home.
-* They travel without a bicycle.
-* No bicycle will be taken along.
"""

RECIPE = """
= recipe
> (A recipe|A new recipe).
> (Here is|This is) a recipe.
> (Write down|Please save|Save) this recipe.
> Something to cook.
> (I have|We have) a recipe (to share|).
> (From the|For the) recipe book.
>* One more recipe (to save|).
& The {dish} (serves|is for|feeds) {servings}.
& For the {dish} (you need|take) {ingredients}.
& The {dish} (takes|is ready in) {minutes}.
& {author} (cooks|makes|sent us) the {dish}.
& Bake the {dish} at {oven} for {minutes}.
& Bake it at {oven} for {minutes}.
& It (serves|feeds) {servings} and takes {minutes}.
&* You make the {dish} with {ingredients}.
&* The {dish} comes from {author}.
dish! dish | dish | name | recipe
(It is|This is|We make) (a|the) {v}.
The dish is (called|named|) (a|) {v}.
(The recipe|It) is for (a|the) {v}.
(You get|It gives) a {v}.
(Tonight|Today) we cook the {v}.
The name (of it|) is {v}.
* What we cook is the {v}.
* The recipe gives a {v}.
author person | author | :recipe by | cook
(The recipe|It) (is|comes) (from|by) {v}.
(The author|The cook) is {v}.
{v} (wrote|sent|gave us) (it|the recipe).
I (got|have) it from {v}.
{v} is the author.
Thanks go to {v} for the recipe.
* The recipe was sent by {v}.
* It was {v} who wrote it.
servings! whole | servings | portions | :serves
(It|This) (serves|feeds|is enough for) {v}.
(It makes|It gives|You get) {v} (servings|portions).
(The recipe|It) is for {v} people.
{v} (servings|portions).
The number of (servings|portions) is {v}.
{v} people can eat (from it|).
* It is made for {v} people.
* This gives {v} portions.
minutes minutes | time | cooking time | duration
(It|This) (takes|needs) {v}.
(Cook|Bake|Leave) it (for|) {v}.
(The cooking time|The time) is {v}.
(It is ready|You are done) (after|in) {v}.
{v} (of cooking|in all) (is|are) needed.
(Plan|Allow) {v} for it.
* It should cook for {v}.
* The time needed is {v}.
oven oven | oven | oven temperature | :bake at
(Heat|Set|Preheat) the oven to {v}.
(Bake|Roast) it at {v}.
The oven (should be|is) at {v}.
The oven temperature is {v}.
(It goes|Put it) into the oven at {v}.
It needs {v} in the oven.
* In the oven at {v}.
* The oven is set to {v}.
ingredients! ingredients | ingredients | :you need | shopping list
(You need|Take|Use|We use) {v}.
(The ingredients|The things needed) are {v}.
(Mix|Put together|Stir) {v}.
(It is made|It is prepared) with {v}.
(Buy|Get) {v}.
(Ingredients|Needed): {v}.
* What you need is {v}.
* You make it with {v}.
difficulty difficulty | difficulty | level
(It|The recipe|This) is {v}.
(The difficulty|The level) is {v}.
(I find it|People call it|I would call it) {v}.
To cook it is {v}.
(Difficulty|Level) {v}.
Making it is {v}.
* The recipe is called {v}.
* I would say it is {v}.
vegan bool | vegan
+ (It|The dish|The recipe) is vegan.
+ (It is|This is) a vegan (dish|recipe).
+ (Vegans can eat it|Good for vegans).
+ (Everything in it|All of it) is vegan.
+* The whole dish is vegan.
+* A vegan dish.
- (It|The dish|The recipe) is not vegan.
- (It is|This is) not a vegan (dish|recipe).
- (Vegans cannot eat it|Not for vegans).
- (Not everything|Not all of it) is vegan.
-* The whole dish is not vegan.
-* No vegan dish.
"""

LOAN = """
= loan
> (A book|A library book) was (lent|borrowed).
> (A library loan|Library loan).
> (Please enter|Please record) this loan.
> (Somebody|A reader) borrowed a book.
> (Here is|This is) a library loan.
> (Loan|A loan) at the library.
>* One more loan (at the library|).
& {reader} (borrowed|took out|has) "{book}".
& {reader} (borrowed|took) the book with the shelf mark {shelf}.
& {reader} (must bring|has to bring) it back by {due}.
& "{book}" is due (back|) on {due}.
& On {lent} {reader} (borrowed|took out) "{book}".
& It was lent on {lent} and is due on {due}.
&* "{book}" was borrowed by {reader}.
&* {reader} has to return it by {due}.
reader! person | reader | borrower | :lent to
(The reader|The borrower) is {v}.
{v} (borrowed it|took it out|has it now).
(The book|It) (was lent|went) to {v}.
{v} is the (reader|borrower).
It is (on the card of|on loan to) {v}.
(The loan|It) is in the name of {v}.
* It was borrowed by {v}.
* The book is with {v}.
card code | card number | library card | card
(The card number|The card|The library card) is {v}.
(It is|It was lent) on (the card|card) {v}.
{v} is the (card number|number of the card).
(The reader's|The borrower's) card (is|has the number) {v}.
(Card number|Card) {v}.
They showed the card {v}.
* The library card has the number {v}.
* They used the card {v}.
book! book | title | book | title of the book
(The book|The title) is "{v}".
(It is|The book is|It is a book) called "{v}".
The title of the book is "{v}".
(They wanted|They took) "{v}".
(It is about|It concerns) the book "{v}".
The loan is of "{v}".
* What was borrowed is "{v}".
* The book has the title "{v}".
shelf code | shelf mark | shelf | call number
(The shelf mark|The call number) is {v}.
(It|The book) (stands|belongs) at {v}.
{v} is the (shelf mark|call number).
(It has|The book has) the shelf mark {v}.
(On the shelf|In the catalogue) it is {v}.
(Shelf mark|Call number) {v}.
* You find it at {v} on the shelf.
* The book is filed under {v}.
lent date | :lent on | date of the loan | loan date
(It|The book) (was lent|was borrowed|went out) on {v}.
(The date of the loan|The loan date) is {v}.
(They came|They took it) on {v}.
The loan (began|started|is) on {v}.
{v} is the date of the loan.
(They have had it|It has been out) since {v}.
* The loan dates from {v}.
* On {v} it was lent.
due! later | :due | due date | :return by
(It|The book) is due (back|) on {v}.
(They have|They must bring|Please bring) it back by {v}.
The due date is {v}.
(It must be|It has to be) (back|returned) by {v}.
{v} is the due date.
They may keep it until {v}.
* The book has to be back on {v}.
* It is to be returned by {v}.
renewals small | renewals | :times renewed
(It was|The loan was) renewed {v} times.
(They renewed it|They have renewed it) {v} times.
The number of renewals is {v}.
(There were|It had) {v} renewals.
{v} renewals (so far|).
They asked for {v} renewals.
* It has been renewed {v} times.
* They had {v} renewals.
fee fee | fee | fine | charge
(There is|They owe|They pay) a (fee|fine) of {v}.
The (fee|fine|charge) is {v}.
(They have to pay|They still owe) {v}.
{v} (has to be paid|is to be paid).
(We charge|We ask) {v}.
It (costs|cost) them {v}.
* A charge of {v} is open.
* The fine comes to {v}.
reserved bool | reserved | reserved by others
+ (It|The book) is reserved (by another reader|by somebody else|for others).
+ (Another reader|Somebody else) reserved it.
+ There is a reservation (for it|on it).
+ (Others are|Somebody is) waiting for it.
+* It has been reserved by another reader.
+* Another reader is waiting for it.
- (It|The book) is not reserved (by another reader|by somebody else|for others).
- (No other reader|Nobody else) reserved it.
- There is no reservation (for it|on it).
- Nobody is waiting for it.
-* It has not been reserved by another reader.
-* No other reader is waiting for it.
"""
