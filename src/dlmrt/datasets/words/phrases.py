"""How the facts of a word problem are said; lines with ``*`` are held out (``phrasing.py``).

Fields: ``{P}`` the person as subject, ``{o}`` as object, ``{s}`` possessive (``{s_}`` at the start), ``{p}``
the pronoun, ``{t}`` things, ``{c}`` what they are packed in, ``{x}`` other things, ``{k} {n} {m}`` numbers,
``{f} {F}`` a fraction in words, ``{q}`` the person that a relation speaks of, against ``{r}``.
"""

from __future__ import annotations

from dlmrt.datasets.phrasing import Forms, forms

PHRASES: dict[str, Forms] = {
    "start": forms("""
        {P} has {k} {t} (|at first|to begin with|at the start).
        {P} (owns|possesses) {k} {t}.
        {P} starts (|out|off) with {k} {t}.
        There are {k} {t} (in {s} room|on {s} shelf|in {s} cellar|in {s} bag).
        (At first|To begin with|Originally|In the beginning|Initially) {P} has {k} {t}.
        {P} has (collected|saved up|gathered|bought|brought) {k} {t}.
        {P} keeps {k} {t} in a (cupboard|drawer|chest|shed|box).
        (In the morning|At noon|On Sunday) {P} counts {k} {t}.
        {P} begins (the week|the day|the month|the year) with {k} {t}.
        {k} {t} belong to {o}.
        {P} (looks after|takes care of|is in charge of) {k} {t}.
        On (Monday|Tuesday|Friday) {P} has {k} {t}.
        {P} sets off with {k} {t}.
        {k} {t} (stand|are|wait) (in {s} room|on {s} table|in {s} shed).
        A count gives {o} {k} {t}.
        {s_} (collection|stock|supply) (is|consists of|holds) {k} {t}.
        * {P} sets out with {k} {t}.
        * {k} {t} lie on {s} shelf to begin with.
        * The first count gives {o} {k} {t}.
    """),
    "gain": forms("""
        {P} gets {k} (more|new|further|additional) {t} (|from a friend|for free|at the market).
        {P} (finds|obtains|gains|takes) (another|a further) {k} {t} (|in the attic|on the way).
        {P} is (given|handed|sent|lent) {k} {t} by (a friend|an uncle|a colleague|a teacher).
        {P} buys {k} (|more|other) {t} (|in a shop|on the way home|at a sale).
        {P} adds {k} {t} (to the rest|to the others|to the pile).
        {P} picks up {k} (further|more|extra) {t}.
        {P} wins {k} {t} (in a contest|in a game|in a bet).
        {P} receives {k} {t} by (post|mail|courier).
        (An aunt|A cousin|A neighbour|A friend) (sends|gives|brings|leaves|hands) {o} {k} {t}.
        Then {k} (new|more|further) {t} (arrive|come in|turn up) for {o}.
        {P} (makes|produces) {k} (additional|more|new) {t}.
        {P} takes over {k} {t} from a (neighbour|friend).
        {P} (comes|gets) back with {k} (|more|extra) {t}.
        A (parcel|letter|van|truck) brings {o} {k} (|more) {t}.
        A delivery of {k} {t} reaches {o}.
        On top of that, {P} gets {k} {t}.
        Somebody (gives|sends|lends) {o} {k} (|extra) {t}.
        {s_} (collection|stock|supply) grows by {k} {t}.
        * Somebody leaves {k} extra {t} for {o}.
        * {P} comes home with {k} {t} on top of that.
        * A delivery brings {o} {k} {t}.
    """),
    "lose": forms("""
        {P} gives away {k} (|of the) {t} (|to a friend|to a stranger).
        {P} loses {k} {t} (|on the way|in a game|in a bet|in a flood).
        {P} sells {k} (|of the) {t} (|at the market|to a neighbour).
        {P} uses (up|) {k} {t}.
        {P} (hands|lends|passes|gives) {k} {t} to a (cousin|friend|neighbour|colleague).
        {P} throws (out|away) {k} (broken|old|bad) {t}.
        {k} of {s} {t} (get lost|go missing|break|are gone|disappear).
        {P} donates {k} {t} to a (school|museum|club|church).
        {P} has to (return|give back|give up|sell) {k} {t}.
        A (visitor|thief|neighbour|dog) takes {k} {t} from {o}.
        {P} trades {k} {t} for a (ball|book|cake|game).
        {P} leaves {k} {t} (at home|at school|on the bus).
        {P} lets a (friend|cousin|school|club) have {k} {t}.
        {k} {t} are (taken|removed|borrowed) from {o}.
        {P} gets rid of {k} {t}.
        Somebody (steals|takes|breaks) {k} of {s} {t}.
        {s_} (collection|stock|supply) shrinks by {k} {t}.
        {P} (spends|parts with) {k} of {s} {t}.
        * {P} parts with {k} {t}.
        * {k} {t} are stolen from {o}.
        * {P} lets a museum have {k} {t}.
    """),
    "packs": forms("""
        {P} (buys|orders|gets|takes) {n} {c} of {k} {t} (|each).
        {P} gets {n} {c} with {k} {t} in (each|every one|each of them).
        {P} finds {n} {c}, (each|every one) (holding|containing|with) {k} {t}.
        (Someone|A friend|An aunt) brings {o} {n} {c} with {k} {t} (apiece|each|in each).
        {P} is given {n} {c}; every one (contains|holds) {k} {t}.
        {P} orders {n} {c}. There are {k} {t} in (each of them|each|every one).
        Then {n} {c} of {k} {t} (arrive|come) for {o}.
        {P} adds {n} (full|new) {c}, and each has {k} {t}.
        {P} carries home {n} {c} of {k} {t} (|each).
        A (shop|friend|factory) sends {o} {n} {c}, {k} {t} (to|in) each.
        {P} (takes|receives|wins) {n} {c} that hold {k} {t} each.
        {P} (unpacks|opens|fetches) {n} new {c} of {k} {t} each.
        {P} opens {n} {c} with {k} {t} in (each|every one).
        {P} stocks up with {n} {c} of {k} {t} each.
        {n} {c} with {k} {t} (in each|inside each|each) are brought to {o}.
        * {P} opens {n} {c} and finds {k} {t} in every one.
        * With {n} {c} at {k} {t} each, {P} stocks up.
        * {P} inherits {n} {c}, with {k} {t} inside each.
    """),
    "times": forms("""
        Then {P} has {m} times as many (|{t}).
        (After that|Then|Soon) {s} number of {t} (grows to|becomes|is) {m} times what it was.
        {P} ends the (week|month|day) with {m} times as many {t}.
        {P} multiplies {s} (supply|collection|stock|number) by {m}.
        A lucky (trade|deal|day) leaves {o} with {m} times as many {t}.
        {P} now (owns|has) {m} times that number.
        Within a (month|week|year) {s} {t} become {m} times as many.
        By (summer|spring|autumn) {P} has {m} times as many {t}.
        {P} (raises|increases|brings) the number of {s} {t} to {m} times as many.
        A machine turns {s} {t} into {m} times as many.
        The (pile|supply|collection) grows until it is {m} times as big.
        {P} keeps (copying|buying|trading) until there are {m} times as many.
        {s_} (collection|supply|pile) (grows|rises|increases) to {m} times its size.
        (Later|In the end|Before long) {P} counts {m} times as many (as before|as at first).
        The number (rises|grows|increases) by a factor of {m}.
        * {s_} stock swells to {m} times its size.
        * Soon {P} counts {m} times as many as before.
        * It goes up by a factor of {m}.
    """),
    "share": forms("""
        {P} splits the {t} equally among {m} (boxes|bags|baskets) and keeps one (box|of them).
        {P} shares them equally among {m} people, {o} included.
        {P} keeps only one part in {m}.
        {P} divides the {t} into {m} equal (piles|parts|heaps) and keeps one of them.
        {P} deals them out into {m} equal (heaps|piles) and takes just one.
        Only one of {m} equal (parts|shares|piles) (stays with|is left for) {o}.
        {P} sorts them into {m} equal groups and keeps a single group.
        The {t} are divided equally between {m} (teams|people), and {P} has one (part|share).
        {P} reduces the pile to one of {m} equal parts.
        {P} packs them into {m} equal bags and takes one bag along.
        After an equal division by {m}, {P} has one (share|part).
        {P} arranges them in {m} equal rows and keeps one row.
        {P} distributes all of them (equally|evenly) over {m} (boxes|tables|drawers) and keeps one of these.
        {P} makes {m} equal (portions|parts) and (holds on to|keeps) one.
        One of every {m} stays with {o}.
        * Of {m} equal portions {P} holds on to one.
        * {P} distributes all of them evenly over {m} shelves and keeps one shelf.
        * One in every {m} is what {P} keeps.
    """),
    "fraction": forms("""
        {P} gives away {f} of (|all) {s} {t}.
        {P} sells {f} of (the|{s}) {t} (|at a market).
        {P} loses {f} of (them|the {t}|all {t}).
        {F} of {s} {t} (are used up|are sold|are lost|get lost|break).
        {P} donates {f} of {s} {t} (|to a school).
        {P} hands over {f} of the {t} to a (club|friend|school).
        {F} of them turn out to be broken and are thrown (away|out).
        {P} trades away {f} of {s} {t}.
        A (flood|storm|fire) (ruins|destroys) {f} of {s} {t}.
        {P} leaves {f} of them (at school|at home|behind).
        {P} sends {f} of {s} {t} to a (friend|cousin|shop).
        {P} puts {f} of the {t} up for sale, and all of those go.
        {P} (parts with|gets rid of|gives up) {f} of (the|{s}) {t}.
        {F} of (all|these|the) {t} (are missing|disappear|are gone).
        {P} has to (give back|return|sell|do without) {f} of (the|{s}) {t}.
        * {P} parts with {f} of what {p} has.
        * {F} of the {t} go missing.
        * {P} has to do without {f} of them from then on.
    """),
    "percent_up": forms("""
        Then the number of {s} {t} (rises|grows|increases) by {k} percent.
        {P} gets {k} percent more {t}.
        {P} adds {k} percent to {s} (|collection of|supply of|stock of) {t}.
        {s_} {t} (increase|grow) by {k} percent.
        {P} manages to grow the number by {k} percent.
        A (gift|present|delivery) makes {s} {t} {k} percent more.
        By (spring|summer) {P} has {k} percent more of them.
        {P} buys {k} percent more on top.
        The (supply|number|stock) goes up (|by) {k} percent.
        {P} (enlarges|increases|expands) the collection by {k} percent.
        Next, {s} number of {t} climbs by {k} percent.
        {P} gains {k} percent.
        {P} is paid a bonus of {k} percent in {t}.
        Another {k} percent (of them|of that number) are added.
        {P} tops up the (supply|stock|collection) by {k} percent.
        * A bonus of {k} percent in {t} is paid to {o}.
        * {k} percent as many again are added.
        * {P} tops the {t} up by {k} percent.
    """),
    "percent_down": forms("""
        {P} sells {k} percent of {s} {t}.
        {P} loses {k} percent of (the|all|{s}) {t}.
        Then the number of {s} {t} (falls|drops|shrinks|decreases) by {k} percent.
        {P} gives away {k} percent of (them|the {t}).
        {k} percent of {s} {t} (break|get lost|go missing|are stolen).
        {s_} {t} decrease by {k} percent.
        {P} uses (|up) {k} percent of the {t}.
        A (fire|flood|storm) destroys {k} percent of {s} {t}.
        {P} donates {k} percent of {s} {t}.
        {P} returns {k} percent of (them|the {t}).
        The (supply|number|stock) goes down (|by) {k} percent.
        {P} trades away {k} percent of {s} {t}.
        {k} percent of (the|all) {t} are thrown (out|away).
        A thief (takes|steals) {k} percent of {s} {t}.
        {P} has to (sell|give back|do without) {k} percent of (them|{s} {t}).
        * {k} percent of them have to be thrown out.
        * {P} is left without {k} percent of {s} {t}.
        * A thief makes off with {k} percent of {s} {t}.
    """),
    "daily": forms("""
        {P} (makes|gets|finds) {k} {t} a (day|week) for {n} (days|weeks).
        For {n} days {P} (gets|collects|buys) {k} {t} every day.
        {P} buys {k} {t} on each of {n} days.
        Every week {P} (collects|saves|adds) {k} {t}, for {n} weeks.
        {P} finds {k} {t} a day, {n} days in a row.
        Each of {n} (visitors|friends|cousins) (brings|gives) {o} {k} {t}.
        {P} earns {k} {t} an hour and works {n} hours.
        Over {n} weeks {P} adds {k} {t} a week.
        {n} (friends|neighbours|colleagues) give {o} {k} {t} each.
        {P} saves {k} {t} a month (during|for|over) {n} months.
        On {n} (evenings|days) {P} (wins|gets) {k} {t} each time.
        {P} gathers {k} {t} on (every one|each) of {n} walks.
        {P} goes on collecting {k} {t} a day for {n} days.
        {n} times {P} (comes back with|brings back|picks up) {k} {t}.
        A (shop|school|neighbour) pays {o} {k} {t} a week for {n} weeks.
        * At {k} {t} a day, {P} goes on collecting for {n} days.
        * {n} times in a row, {P} brings back {k} {t}.
        * A club pays {o} {k} {t} a week over {n} weeks.
    """),
    "more": forms("""
        {q} has {k} more {t} than {r}.
        {q} has {k} {t} more than {r} (has|does).
        {r} has {k} fewer {t} than {q}.
        Compared with {r}, {q} (has|owns) {k} more {t}.
        {q} (owns|holds) {k} more {t} than {r} does.
        {q} beats {r} by {k} {t}.
        To have as many {t} as {q}, {r} needs {k} more.
        {q} counts {k} more {t} than {r} counts.
        {q} is {k} {t} ahead of {r}.
        The number of {t} that {q} has is {k} above that of {r}.
        {q} has as many {t} as {r} and {k} more.
        {r} would need another {k} {t} to catch up with {q}.
        If {r} (got|bought|found) {k} more {t}, {r} would have as many as {q}.
        {q} (surpasses|is ahead of) {r} by {k} {t}.
        {q} (leads|exceeds) {r} in {t} by {k}.
        {r} is {k} {t} (behind|short of) {q}.
        * {q} leads {r} by {k} {t}.
        * If {r} had {k} more {t}, it would be as many as {q} has.
        * {q} exceeds {r} by {k} {t}.
    """),
    "fewer": forms("""
        {q} has {k} fewer {t} than {r}.
        {q} has {k} {t} less than {r} (has|does).
        {r} has {k} more {t} than {q}.
        Compared with {r}, {q} (has|owns) {k} fewer {t}.
        {q} (owns|holds) {k} fewer {t} than {r} does.
        {q} is {k} {t} short of what {r} has.
        {q} needs {k} more {t} to have as many as {r}.
        {q} counts {k} fewer {t} than {r} counts.
        {q} is {k} {t} behind {r}.
        The number of {t} that {q} has is {k} below that of {r}.
        {r} has as many {t} as {q} and {k} more.
        {q} would need another {k} {t} to catch up with {r}.
        If {q} (got|bought|found) {k} more {t}, {q} would have as many as {r}.
        {r} (surpasses|is ahead of) {q} by {k} {t}.
        {r} (leads|exceeds) {q} in {t} by {k}.
        {q} (trails|is behind) {r} in {t} by {k}.
        * {q} trails {r} by {k} {t}.
        * If {q} had {k} more {t}, it would be as many as {r} has.
        * {r} exceeds {q} by {k} {t}.
    """),
    "multiple": forms("""
        {q} (has|holds|owns) {m} times as many {t} as {r}.
        {q} owns {m} times as many {t} as {r} does.
        For each of the {t} that {r} has, {q} has {m}.
        {q} has {m} times the number of {t} that {r} has.
        The {t} of {q} are {m} times as many as those of {r}.
        {q} counts {m} times as many {t} as {r} counts.
        Multiply the {t} of {r} by {m} and you get those of {q}.
        {q} holds {m} times as many {t} as {r} holds.
        {q} has collected {m} times as many {t} as {r}.
        {q} can show {m} times as many {t} as {r} can.
        {q} has {m} {t} for every one that {r} has.
        Take the {t} of {r} {m} times, and it is what {q} has.
        {q} has {m} times (the|all the) {t} of {r}.
        To match {q} in {t}, {r} needs {m} times as many.
        {q} has the {t} of {r} {m} times over.
        {s_} {t} would have to be taken {m} times to match those of {q}.
        * {q} possesses {m} times the {t} of {r}.
        * It takes {m} collections like that of {r} to match {q} in {t}.
        * What {r} has in {t}, {q} has {m} times over.
    """),
    "end": forms("""
        In the end {P} has {k} {t}.
        Now {P} has {k} {t} (|left).
        At last {P} counts {k} {t}.
        That leaves {o} with {k} {t}.
        Afterwards {P} owns {k} {t}.
        Finally there are {k} {t} (|left).
        The last count (gives|is) {k} {t}.
        By (evening|Sunday|then) {P} has {k} {t}.
        When all is done, {P} has {k} {t}.
        This makes {k} {t} in all.
        {P} ends up with {k} {t}.
        After all this {P} finds that {p} has {k} {t}.
        {P} is left with {k} {t}.
        The final (count|number) is {k} {t}.
        (At the end|In the evening) the {t} are {k} in number.
        * {k} {t} is what {P} is left with.
        * The final tally is {k} {t}.
        * On Sunday the {t} number {k}.
    """),
    "distractor": forms("""
        {P} also has {k} {x}.
        {s_} (brother|sister|cousin|uncle) is {k} years old.
        It is {k} degrees (outside|warm|in the sun).
        A (bus|train) ticket costs {k} (cents|dollars).
        {P} lives at number {k}.
        {s_} (neighbour|friend|aunt) (has|owns|keeps) {k} {x}.
        The (walk|way|ride) to the shop takes {k} minutes.
        There are {k} {x} in the (attic|cellar|garden).
        {P} has read {k} pages of a novel.
        {s_} school has {k} (classrooms|teachers|windows).
        {k} people (watch|are there|wait outside).
        The (room|house) has {k} windows.
        {P} paid {k} dollars for (a coat|a hat|a new lamp|lunch).
        The (clock|radio|fridge) has been broken for {k} (days|weeks).
        (Nearby|Outside|In the street) stand {k} {x}.
        {P} has been waiting for {k} (minutes|days).
        * {P} paid {k} dollars for {s} bicycle.
        * The clock has been wrong for {k} days.
        * Not far away stand {k} {x}.
    """),
}
QUESTIONS: dict[str, Forms] = {
    "count": forms("""
        How many {t} does {P} have (now|after that|then)?
        How many {t} does {P} have (in the end|at the end|at last)?
        How many {t} are left (for {P}|with {P})?
        What number of {t} does {P} (end up with|have now)?
        With how many {t} does {P} (finish|end up)?
        How many {t} (does {P} own|are there) in the end?
        What is the number of {t} that {P} has now?
        Find the number of {t} that {P} has in the end.
        * How many {t} belong to {P} at the end?
    """),
    "together": forms("""
        How many {t} do {P} and {q} have together (|now)?
        How many {t} do {P} and {q} have in total (|at the end)?
        What is the total number of {t} of {P} and {q}?
        If {P} and {q} put their {t} together, how many are there?
        How many {t} are there when {P} and {q} combine theirs?
        How many {t} is that for {P} and {q} (in all|together|in total)?
        Find the sum of the {t} of {P} and {q}.
        What do {P} and {q} have together?
        * What do the {t} of {P} and {q} add up to?
    """),
    "difference": forms("""
        How many more {t} does {P} have than {q} (|now|in the end)?
        By how many {t} is {P} ahead of {q} (|in the end|now)?
        What is the difference between the {t} of {P} and those of {q}?
        How many {t} does {q} need to catch up with {P}?
        How far is {q} behind {P} in {t}?
        How many fewer {t} does {q} have than {P}?
        By how many does {P} exceed {q} in {t}?
        Find out how many more {t} {P} has than {q}.
        * By how much do the {t} of {P} exceed those of {q}?
    """),
    "value": forms("""
        {P} sells all of them for {k} dollars each. How many dollars is that?
        At {k} dollars (apiece|each), what are the {t} of {P} worth in dollars?
        Each of the {t} is worth {k} dollars. How many dollars are those of {P} worth?
        How many dollars does {P} get for all {t} at {k} dollars each?
        If one costs {k} dollars, how many dollars do all {t} of {P} cost?
        (Somebody|A shop) pays {P} {k} dollars for each. How many dollars (is that|does {P} get)?
        What do all {t} of {P} cost at {k} dollars (each|apiece)?
        * A dealer pays {P} {k} dollars for each. How many dollars is that in total?
    """),
    "start": forms("""
        How many {t} did {P} have at the (start|beginning)?
        How many {t} did {P} have (at first|to begin with)?
        With how many {t} did {P} (begin|start)?
        What number of {t} did {P} have in the beginning?
        How many {t} were there before all this?
        Find the number of {t} that {P} had at first.
        How many {t} did {P} own (in the beginning|at the start)?
        * How many {t} did {P} own originally?
    """),
    "unknown": forms("""
        {P} has some {t}.
        {P} (starts|begins) with some {t}.
        {P} owns a number of {t}.
        There are some {t} in {s} (room|shed|bag).
        {P} keeps {t} in a cupboard, nobody knows how many.
        {P} has {t}, but (we don't know how many|the number is not known).
        * {P} begins with an unknown number of {t}.
    """),
}
