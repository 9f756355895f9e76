"""Sentences of a text that say nothing about the record."""

from __future__ import annotations

from dlmrt.datasets.phrasing import forms

GREETINGS = forms("""
    (Hi|Hello|Dear all|Good morning|Hi there|Hello everybody),
    (Hi|Hello|Good evening)!
    (Hi team|Dear colleagues|Hey),
    I hope (you are|all is) well.
    * Good day,
""")
CLOSINGS = forms("""
    (Thanks|Thank you|Many thanks)!
    (Thanks|Thank you) (in advance|for your help).
    (Best|Kind|Warm) (regards|wishes)
    (Cheers|All the best).
    That is all (for now|).
    * Thanks for everything.
""")
DISTRACTORS = forms("""
    (Thanks|Sorry) for the (quick|late) reply.
    The printer was out of paper again.
    (Nothing else|Nothing more) was said.
    (The coffee was cold|My coffee went cold) (again|).
    We talked for {n} minutes on the stairs.
    It took {n} attempts to get through.
    (My|Our) neighbour {name} (says hello|sends greetings).
    {name} from the second floor (says hello|was in a good mood).
    (I will be|I am) out of the office tomorrow.
    (The line|The connection) was bad.
    (The window|The door) in our office (is stuck|does not close).
    I have a cold, so (please be patient|I may be slow).
    (My cousin|My sister|An old friend) (moved to|lives in) {city}, by the way.
    (Last year|Years ago) I was in {city} on holiday.
    There are {n} other mails in my inbox.
    (My cat|Our dog) {name} (is asleep|was at the vet) (today|again).
    (Please file it|File it) with the others.
    I read a long article about chess (yesterday|).
    (Call me|Ask me) if anything is unclear.
    (It was|It has been) a long day (here|).
    The radio plays the same song for the {nth} time.
    (I still|We still) have to water the plants.
    I wrote this down in a hurry.
    (The lift|The heating) is (broken|out of order) again.
    I nearly forgot about it.
    (The others|Most of us) have gone home.
    (You know how it is|As you know, it is busy here).
    I counted {n} birds (on the roof|outside) this morning.
    (My umbrella|My pen) is gone (again|).
    (No hurry|Take your time) with the answer.
    * My uncle {name} sends greetings.
    * We waited for {n} minutes on the stairs.
    * The coffee machine is broken again.
    * I was in {city} years ago.
    * The door of the lift is stuck.
    * I have {n} other mails to read.
""")
