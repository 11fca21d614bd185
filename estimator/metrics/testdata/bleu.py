"""Records the scores of sacrebleu and NLTK: python bleu.py > bleu.json."""
import json
import random
import warnings
from sacrebleu.metrics import BLEU
from nltk.translate.bleu_score import corpus_bleu
random.seed(5)


def sent(n, v):
    return [random.randrange(v) for _ in range(n)]


def mutate(s, v):
    s = list(s)
    for _ in range(random.randrange(0, 3)):
        if s:
            s[random.randrange(len(s))] = random.randrange(v)
    if random.random() < .3 and s:
        s.pop()
    if random.random() < .3:
        s.append(random.randrange(v))
    return s


def text(s):
    return " ".join("w%d" % i for i in s)


def sacre(refs, hyps, order, smooth):
    most = max(len(r) for r in refs)
    streams = [[text(r[k]) if k < len(r) else None for r in refs] for k in range(most)]
    return BLEU(tokenize="none", smooth_method=smooth, max_ngram_order=order, effective_order=False).corpus_score([text(h) for h in hyps], streams).score / 100


cases = []


def case(refs, hyps, order=4):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        n = corpus_bleu(refs, hyps, weights=[1/order]*order)
    cases.append(dict(references=refs, translations=hyps, order=order, exp=sacre(refs, hyps, order, "exp"), none=sacre(refs, hyps, order, "none"), nltk=n))


for k in range(6):
    refs = [[sent(random.randrange(3, 15), 12)] for _ in range(4)]
    case(refs, [mutate(r[0], 12) for r in refs])
for k in range(4):
    refs = [[sent(random.randrange(3, 15), 6) for _ in range(random.randrange(1, 4))] for _ in range(3)]
    case(refs, [mutate(r[0], 6) for r in refs])
case([[[1,2,3,4,5]]], [[1,2,9,4,8]])           # bigram matches, none longer
case([[[1,2,3,4,5]]], [[1,9,3,8,5]])           # unigrams alone
case([[[1,2,3,4,5]]], [[7,8,9]])               # none
case([[[1,2,3,4,5]]], [[1,2,3]])               # shorter than the longest n-gram
case([[[1,2,3,4,5]]], [[]])
case([[[1,2,3,4,5,6]]], [[1,2,3,4]])           # too short
case([[[1,1,1,2]]], [[1,1,1,1,1]], 2)          # clipped counts
case([[[1,2,3,4],[1,2,3,4,5,6]]], [[1,2,3,4,5]]) # two lengths equally near
print(json.dumps(cases))
