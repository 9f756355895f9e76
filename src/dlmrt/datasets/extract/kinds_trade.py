"""Kinds of records about buying, selling and lodging; the format is that of ``schema.py``."""

from __future__ import annotations

ORDER = """
= order
> New order.
> (An order|Another order) came in.
> (Please enter|Please record) this order.
> (We have|We got|I have) (an order|a new order) (today|).
> Order:
> (This is|Here is) (an|the) order.
>* One more order (came in|).
& {customer} (ordered|bought|wants|has ordered) {quantity} x {product}.
& {customer} (ordered|bought|wants|needs) {quantity} units of (the|) {product} at {unit_price} each.
& (Please send|Send|Ship) {quantity} x {product} to {ship_to}.
& {customer} (ordered|asks for) {quantity} pieces of {product} on {date}.
& On {date} {customer} (ordered|bought) {quantity} of the {product}.
& The order {reference} (is|comes) from {customer}.
&* {quantity} x {product} were ordered by {customer}.
&* {customer} wants {quantity} pieces of {product}.
reference code | order number | reference | order no.
(The|Our) (order number|reference) is {v}.
It (runs under|has|got) the (order number|number|reference) {v}.
(Use|Quote) {v} as the (reference|order number).
{v} is the order number.
(They gave|We gave) it the order number {v}.
(Order number|Order no.|Order) {v}.
* It is filed under the reference {v}.
* {v} is our reference.
customer! person | customer | buyer | client
(The|Our) (customer|buyer|client) is {v}.
{v} (placed|made|sent) (the|this) order.
{v} is the (customer|buyer|client).
(The order|It) (is|comes) from {v}.
It was (ordered|bought) by {v}.
(Put|Write) it on the account of {v}.
* The order was placed by {v}.
* The buyer of this is {v}.
product! thing | product | article | item
The (product|article|item) is the {v}.
(It is about|This is for) the {v}.
(They want|They asked for|They chose) the {v}.
What was (ordered|bought) is the {v}.
(We are to|Please) (send|ship) the {v}.
The article (ordered|wanted) is called {v}.
* The item they want is the {v}.
* (The order is|It is) for the {v}.
quantity! quantity | quantity | number of pieces | amount
(They need|They want|They take) {v} (of them|pieces|units).
(The quantity is|The amount is|It is) {v} (pieces|units).
(Send|Ship|Pack) {v} of them.
{v} (pieces|units) (are needed|were ordered|in all).
(We are to|Please) (send|ship) {v} units.
The number of pieces (ordered|) is {v}.
* {v} of them (are wanted|were ordered).
* (Pack|Send) {v} pieces.
unit_price price | unit price | price per piece | price each
(Each|One) (costs|is) {v}.
(The price is|They pay|We charge) {v} (each|apiece|per piece).
They are {v} (each|apiece).
{v} (each|per piece|per unit).
The unit price (is|was set at|was agreed at) {v}.
One piece (costs|comes to) {v}.
* We agreed on {v} apiece.
* A single one is {v}.
date date | order date | date of the order | :ordered on
(It|This|The order) was (placed|made|ordered) on {v}.
(The order|It) (came in|arrived) on {v}.
(The order|It) is dated {v}.
The order date is {v}.
We got (it|the order) on {v}.
On {v} (the order|this) came in.
* The order was received on {v}.
* It has the date {v}.
ship_to address | delivery address | :ship to | :deliver to
(Ship|Send|Deliver) (it|everything|the goods) to {v}.
(Delivery|The delivery) is to {v}.
The (delivery address|address) is {v}.
It (goes|is to go) to {v}.
(The goods|Everything) should (arrive at|go to) {v}.
{v} is the delivery address.
* (Have it sent|Bring it) to {v}.
* The goods are to be delivered to {v}.
express bool | express delivery | express
+ (Send it|Ship it|It goes) (by express|as express delivery).
+ (They want|They asked for|Use) express delivery.
+ (Express delivery|Express) (is wanted|was chosen|please).
+ It is (urgent, so express|an express order).
+* (It should go|It must be sent) by express.
+* With express delivery.
- (No|Without) express delivery.
- (They do not want|They do not need|Do not use) express delivery.
- Express delivery is not (wanted|needed).
- (Standard delivery is fine|It is not urgent), no express.
-* It is not an express order.
-* It need not go by express.
gift bool | gift wrapping | gift
+ (Wrap it as a gift|It is a gift, so wrap it).
+ (They want|They asked for|Add) gift wrapping.
+ Gift wrapping (is wanted|please).
+ With gift wrapping.
+* It should be wrapped as a gift.
+* Gift wrapping was chosen.
- (No|Without) gift wrapping.
- (They do not want|Do not add|Leave out) gift wrapping.
- Gift wrapping is not (wanted|needed).
- It is not a gift.
-* It should not be wrapped as a gift.
-* They do not need gift wrapping.
"""

INVOICE = """
= invoice
> (An invoice|A new invoice) (came in|arrived).
> (Please book|Please enter|Please record) this invoice.
> (Invoice|Bill) received.
> (We have|We got|I have) (an invoice|a bill) (here|).
> (This is|Here is) (an|the) invoice.
> Invoice:
>* One more invoice (arrived|).
& (Invoice|The invoice|Bill) {number} (is|comes|came) from {supplier}.
& {supplier} (sent us|sent|issued) invoice {number} on {date}.
& Invoice {number} (is dated|was issued on) {date} and is due on {due}.
& {supplier} (charges|bills) us for {lines}.
& The invoice of {date} is due on {due}.
&* {supplier} issued the invoice {number}.
&* The invoice is dated {date}, payable by {due}.
number! code | invoice number | invoice no. | number
(The|Its) (invoice number|number) is {v}.
(It|The invoice|The bill) has the number {v}.
{v} is the invoice number.
(Invoice number|Invoice no.|Invoice) {v}.
It (runs under|is filed under) {v}.
(Use|Quote) {v} when (you pay|paying).
* (The bill|It) is numbered {v}.
* (Invoice|Bill) with the number {v}.
supplier! company | supplier | :from | vendor
(The supplier|The vendor) is {v}.
(It|The invoice|The bill) (is|comes|came) from {v}.
{v} (sent|issued|wrote) (it|the invoice|the bill).
We (owe|have to pay) {v}.
The money goes to {v}.
{v} is the (supplier|vendor).
* It was (sent|issued) by {v}.
* {v} is to be paid.
customer person | customer | :for the attention of | :attention
It (is|was) addressed to {v}.
(The invoice|It) is for {v}.
The customer is {v}.
(It is meant for|It went to) {v}.
{v} is (the customer|named as customer).
For the attention of {v}.
* The customer (on it|named) is {v}.
* It was sent to {v}.
lines! lines | lines | items | positions
(The items are|The lines are|The positions are): {v}.
(It covers|They charge for|They bill) {v}.
(They delivered|We received|We got) {v}.
(The invoice|It) (lists|shows|names) {v}.
(What they bill is|What we bought is) {v}.
(Items|Lines|Positions): {v}.
* (The bill|It) is about {v}.
* The positions on it are {v}.
date date | invoice date | date of the invoice | :issued
(It|The invoice|The bill) (is dated|has the date) {v}.
(It|The invoice|The bill) was (issued|written) on {v}.
The invoice date is {v}.
The date (on it|of the invoice) is {v}.
They (wrote|issued) it on {v}.
{v} is the invoice date.
* The bill is of {v}.
* On {v} it was issued.
due later | due date | :payable by | :due
(It|The invoice|The bill) is due (on|by) {v}.
(It|The money) (must be paid|is payable) by {v}.
(Pay|Please pay) (it|) by {v}.
The due date is {v}.
We have until {v} to pay.
{v} is the last day to pay.
* (It has to be|It should be) paid by {v}.
* The last day to pay is {v}.
discount percent | discount | reduction
(There is|We get|They give) a discount of {v}.
(The discount is|The discount comes to) {v}.
(It includes|They grant) a reduction of {v}.
Less {v} discount.
{v} discount (was agreed|is given).
We may take off {v}.
* A discount of {v} was agreed.
* With {v} reduction.
paid bool | paid | already paid
+ (It|The invoice|The bill) (is|was|has been) paid (already|).
+ (We have paid|We paid) (it|the bill) (already|).
+ (Payment|The money) has been sent.
+ (Nothing is open|There is nothing left to pay).
+* It was settled, so it is paid.
+* The money was sent (already|).
- (It|The invoice|The bill) (is not|has not been) paid (yet|).
- (We have not paid|We did not pay) (it|the bill) (yet|).
- It is (still open|open|unpaid).
- (Payment|The money) has not been sent.
-* The bill is still unpaid.
-* It was not paid (yet|).
"""

BOOKING = """
= booking
> (A room was booked|A room is to be booked).
> (A booking|A new booking|A reservation) for (the hotel|our hotel).
> Hotel (reservation|booking).
> (Please enter|Please record) this (booking|reservation).
> (This is|Here is) a (room booking|reservation).
> (Somebody|A guest) (wants|reserves|books) a room.
>* One more reservation (for the hotel|).
& {guest} (books|reserves|wants) a {room} room from {arrival}.
& {guest} (arrives|checks in) on {arrival} and stays {nights} nights.
& {guest} (stays|is staying) for {nights} nights.
& (A|The) {room} room for {guests}.
& {guest} (comes|travels) with a party of {guests}.
& The {room} room (costs|is) {rate} a night.
&* {guest} checks in on {arrival} for {nights} nights.
&* {guest} takes a {room} room.
guest! person | guest | name of the guest | :booked by
(The guest is|Our guest is) {v}.
(The room|It) is (for|booked for|reserved for) {v}.
{v} is (the guest|coming|staying with us).
(The booking|The reservation) (is|was made) in the name of {v}.
{v} (made the booking|will stay with us).
The name (of the guest|on the booking) is {v}.
* It was booked by {v}.
* The room was taken by {v}.
arrival! date | arrival | check-in | day of arrival
(Arrival|Check-in) is on {v}.
(They arrive|They check in|They come) on {v}.
The (day|date) of arrival is {v}.
(The stay|It) (starts|begins) on {v}.
(We expect them|Expect them) on {v}.
From {v} on the room is theirs.
* (The arrival|The check-in) will be on {v}.
* They are expected on {v}.
nights! nights | nights | number of nights
(They stay|They will stay|They are staying) {v} nights.
(It is|The stay is) for {v} nights.
The number of nights is {v}.
{v} nights (in all|).
The room is (needed|booked) for {v} nights.
They leave after {v} nights.
* They want to stay {v} nights.
* For {v} nights in all.
room room | room | type of room | room type
(They want|They need|They booked) a {v} room.
(It is|It will be|Give them) a {v} room.
The room type is {v}.
(The|Their) room is a {v}.
A {v} room (please|is wanted|was booked).
We (reserved|keep) a {v} room (for them|).
* (They take|They chose) a {v} room.
* The type of room they want is {v}.
guests guests | guests | party | persons
(They are|There are|In all there are) {v}.
(The party is|The party consists of) {v}.
(A room for|Expect) {v}.
{v} (will come|will stay|are coming).
(They travel as|They come as) {v}.
We (expect|counted) {v}.
* The booking is for {v}.
* {v} are expected.
rate rate | rate | price per night | rate per night
(The rate is|The price is|They pay) {v} (a night|per night).
(One|A) night (costs|is|comes to) {v}.
{v} (a night|per night).
We (charge|ask) {v} (a night|per night).
The price per night is {v}.
(It costs|It is) {v} a night.
* Each night is {v}.
* They agreed to {v} per night.
breakfast bool | breakfast | breakfast included
+ (With breakfast|Breakfast is included|Breakfast included).
+ (They want|They take|They booked) breakfast.
+ (Add|Include) breakfast.
+ Breakfast is wanted.
+* They will have breakfast.
+* It includes breakfast.
- (Without breakfast|No breakfast|Breakfast is not included).
- (They do not want|They do not take) breakfast.
- (Leave out|Do not include) breakfast.
- Breakfast is not wanted.
-* They will not have breakfast.
-* It does not include breakfast.
parking bool | parking | parking space
+ (With|They need|They want) a parking space.
+ (A parking space|Parking) is (needed|wanted|included).
+ (They come by car and need parking|Reserve a parking space).
+ (Keep|Book) a parking space (for them|).
+* A parking space was booked.
+* They take a parking space.
- (Without|They do not need|They do not want) a parking space.
- (A parking space|Parking) is not (needed|wanted|included).
- (No parking|No parking space needed).
- They come by train and need no parking.
-* They do not take a parking space.
-* A parking space was not booked.
phone phone | phone number | phone | telephone
(Their|The) (phone number|number|telephone) is {v}.
(Call|Ring) {v} (for questions|if needed).
(Call them|They can be reached|Reach them) (at|on|under) {v}.
The telephone number (given|) is {v}.
{v} is the phone number.
They gave {v} as their phone number.
* You can call them on {v}.
* Their telephone has the number {v}.
"""
