"""Guesses of the next tokens from what was read and written."""

import numpy as np

from graphwalker.policies.local.drafts import Drafts

WORDS = [11, 12, 13, 14, 15, 16]


def guesses(drafts, *tails, count=3):
    return drafts.guess(np.array(tails, dtype=np.int64), count).tolist()


def test_what_was_read_is_guessed_after_its_last_three_ids():
    drafts = Drafts()
    drafts.read(WORDS)
    assert guesses(drafts, WORDS[:3], WORDS[1:4]) == [[14, 15, 16], [15, 16, 0]]


def test_the_last_of_two_readings_counts():
    drafts = Drafts()
    drafts.read([1, 2, 3, 4, 1, 2, 3, 5])
    drafts.read([])
    assert guesses(drafts, [1, 2, 3], count=1) == [[5]]


def test_two_ids_do_where_three_were_never_seen():
    drafts = Drafts()
    drafts.read(WORDS)
    assert guesses(drafts, [99, 12, 13], count=2) == [[14, 15]]


def test_of_what_rows_drew_only_what_they_took_is_noted():
    drafts = Drafts()
    tails = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    drawn = np.array([[21, 22, 23], [31, 32, 33], [41, 42, 43]])
    drafts.wrote(tails, drawn, np.array([3, 1, 0]))
    assert guesses(drafts, *tails.tolist()) == [[21, 22, 23], [31, 0, 0], [0, 0, 0]]
