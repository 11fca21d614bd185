"""Records what TensorFlow Text's tokenizers make of texts: eager_pieces.py FILE, as gzipped JSON. Needs tensorflow-text 2.15 and sentencepiece."""
import base64
import gzip
import io
import json
import sys
import tempfile

import numpy as np
import sentencepiece
import tensorflow as tf
import tensorflow_text as text

VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "the", "fox", "jump", "##ed", "##s", "un", "##want", "##able", ",", ".", "!", "a", "##b", "##c", "b", "caf", "##e", "中", "1", "##2"]
TEXTS = ["The fox jumped, unwantable fox!", "café ab中国 1 2", "", "  $12 foxs a.b!c x\u00a0abx\u3000abc", "a" * 120, "[CLS] ## , É\u0301\0", "b\u0800"]
PIECES = ["hello  world ", "The quick brown FOXES", "", "ＡＢ１ café 中国 ▁x 💥💥 q", " \t ", "hohoqui<sep>lo"]


def coded(b):
    return base64.b64encode(b).decode()


def model(**options):
    """A SentencePiece model of a few words, with rules that fit into a few bytes."""
    rules = tempfile.NamedTemporaryFile("w", suffix=".tsv")
    for a, b in [("Ａ", "A"), ("Ｂ", "b c"), ("\t", " "), ("１", "")]:
        rules.write(" ".join(f"{ord(c):X}" for c in a) + "\t" + " ".join(f"{ord(c):X}" for c in b) + "\n")
    rules.flush()
    r, f = np.random.default_rng(1), io.BytesIO()
    words = "the quick brown fox jumps over lazy dog hello world tokens café".split()
    sentences = iter([" ".join(r.choice(words, size=8)) for _ in range(200)])
    defaults = dict(vocab_size=60, normalization_rule_tsv=rules.name, model_type="unigram")
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=sentences, model_writer=f, minloglevel=2, hard_vocab_limit=False, num_threads=1, **{**defaults, **options})
    return f.getvalue()


def divided(name, data, bos=False, **options):
    data = data or model(**options)
    ids = text.SentencepieceTokenizer(data, out_type=tf.int32, add_bos=bos, add_eos=bos, reverse=bos)
    words = text.SentencepieceTokenizer(data, out_type=tf.string, add_bos=bos, add_eos=bos, reverse=bos)
    cases = []
    for s in PIECES:
        piece, start, end = words.tokenize_with_offsets(s)
        cases.append({
            "text": s, "pieces": [p.decode() for p in piece.numpy()], "ids": ids.tokenize(s).numpy().tolist(), "starts": start.numpy().tolist(), "ends": end.numpy().tolist(),
            "joined": ids.detokenize(ids.tokenize(s)).numpy().decode(),
        })
    joined = [{"pieces": p, "joined": words.detokenize(tf.constant(p)).numpy().decode()} for p in (["▁", "▁a", "b", "▁c"], ["▁▁", "x", "<s>", "<unk>", "zz"], ["<0xE4>", "<0xB8>", "<0xAD>", "<0xFF>", "x"])]
    return {"name": name, "model": coded(data), "bos": bos, "cases": cases, "joined": joined}


def fast(single):
    m = text.FastWordpieceTokenizer(VOCABULARY, no_pretokenization=single)
    cases = []
    for s in TEXTS:
        word, start, end = text.FastWordpieceTokenizer(VOCABULARY, no_pretokenization=single, token_out_type=tf.string).tokenize_with_offsets([s])
        cases.append({"text": s, "pieces": [p.decode() for p in word.values.numpy()], "ids": m.tokenize([s]).values.numpy().tolist(), "starts": start.values.numpy().tolist(), "ends": end.values.numpy().tolist()})
    return {"single": single, "model": coded(np.asarray(m._model).tobytes()), "cases": cases}


def main():
    record = {
        "sentencepiece": [divided("unigram", None), divided("bos", None, bos=True), divided("pairs", None, model_type="bpe"), divided("words", None, model_type="word"), divided("characters", None, model_type="char"),
                          divided("bytes", None, byte_fallback=True, vocab_size=320), divided("defined", None, user_defined_symbols=["<sep>", "qui", "ho"]), divided("defined pairs", None, model_type="bpe", user_defined_symbols=["<sep>", "qui", "ho"]),
                          divided("spaces", None, remove_extra_whitespaces=False), divided("suffixes", None, treat_whitespace_as_suffix=True), divided("suffixed words", None, model_type="word", treat_whitespace_as_suffix=True),
                          divided("no prefix", None, model_type="bpe", add_dummy_prefix=False)],
        "wordpieces": [fast(False), fast(True)],
    }
    with gzip.GzipFile(sys.argv[1], "wb", mtime=0) as f:
        f.write(json.dumps(record, ensure_ascii=False).encode())


main()
