package ops

// Random numbers of a key and a counter: TensorFlow's stateless ops, and what makes their keys of a seed.
var (
	StatelessRandomNormalV2 = define("StatelessRandomNormalV2(shape: Tshape unread, key: uint64, counter: uint64, alg: int32) -> output: dtype",
		"dtype: floats = float32", "Tshape: indices = int32").state(Random)
	StatelessRandomUniformV2 = define("StatelessRandomUniformV2(shape: Tshape unread, key: uint64, counter: uint64, alg: int32) -> output: dtype",
		"dtype: floats = float32", "Tshape: indices = int32").state(Random)
	StatelessTruncatedNormalV2 = define("StatelessTruncatedNormalV2(shape: Tshape unread, key: uint64, counter: uint64, alg: int32) -> output: dtype",
		"dtype: floats = float32", "Tshape: indices = int32").state(Random)
	StatelessRandomUniformIntV2 = define("StatelessRandomUniformIntV2(shape: Tshape unread, key: uint64, counter: uint64, alg: int32, minval: dtype, maxval: dtype) -> output: dtype",
		"dtype: {int32, int64, uint32, uint64}", "Tshape: indices = int32").state(Random)
	StatelessRandomUniformFullIntV2 = define("StatelessRandomUniformFullIntV2(shape: Tshape unread, key: uint64, counter: uint64, alg: int32) -> output: dtype",
		"dtype: {int32, int64, uint32, uint64} = uint64", "Tshape: indices = int32").state(Random)
	StatelessRandomGammaV3 = define("StatelessRandomGammaV3(shape: shape_dtype, key: uint64, counter: uint64, alg: int32, alpha: dtype) -> output: dtype",
		"dtype: floats", "shape_dtype: indices = int32").state(Random).grows()
	StatelessShuffle = define("StatelessShuffle(value: T, key: uint64, counter: uint64, alg: int32) -> output: T").state(Random)

	RandomIndexShuffle = define("RandomIndexShuffle(index: dtype, seed: Tseed, max_index: dtype) -> output: dtype",
		"rounds: int = 4", "dtype: {int32, uint32, int64, uint64}", "Tseed: {int32, uint32, int64, uint64}")

	StatelessRandomGetKeyCounter    = define("StatelessRandomGetKeyCounter(seed: Tseed) -> key: uint64, counter: uint64", "Tseed: indices = int64").state(Random)
	StatelessRandomGetKeyCounterAlg = define("StatelessRandomGetKeyCounterAlg(seed: Tseed) -> key: uint64, counter: uint64, alg: int32", "Tseed: indices = int64").state(Random)
	StatelessRandomGetAlg           = define("StatelessRandomGetAlg() -> alg: int32").state(Random)

	StatelessRandomNormal     = define("StatelessRandomNormal(shape: T unread, seed: Tseed) -> output: dtype", "dtype: floats = float32", "T: indices = int32", "Tseed: indices = int64").state(Random)
	StatelessRandomUniform    = define("StatelessRandomUniform(shape: T unread, seed: Tseed) -> output: dtype", "dtype: floats = float32", "T: indices = int32", "Tseed: indices = int64").state(Random)
	StatelessTruncatedNormal  = define("StatelessTruncatedNormal(shape: T unread, seed: Tseed) -> output: dtype", "dtype: floats = float32", "T: indices = int32", "Tseed: indices = int64").state(Random)
	StatelessRandomUniformInt = define("StatelessRandomUniformInt(shape: T unread, seed: Tseed, minval: dtype, maxval: dtype) -> output: dtype",
		"dtype: indices", "T: indices = int32", "Tseed: indices = int64").state(Random)
	StatelessRandomUniformFullInt = define("StatelessRandomUniformFullInt(shape: T unread, seed: Tseed) -> output: dtype",
		"dtype: {int32, int64, uint32, uint64} = uint64", "T: indices = int32", "Tseed: indices = int64").state(Random)
	StatelessRandomGammaV2 = define("StatelessRandomGammaV2(shape: T, seed: Tseed, alpha: dtype) -> output: dtype",
		"dtype: floats", "T: indices = int32", "Tseed: indices = int64").state(Random).grows()
	StatelessRandomPoisson = define("StatelessRandomPoisson(shape: T, seed: Tseed, lam: Rtype) -> output: dtype",
		"Rtype: {float16, float32, float64, int32, int64}", "dtype: {float16, float32, float64, int32, int64}", "T: indices = int32", "Tseed: indices = int64").state(Random).grows()
	StatelessRandomBinomial = define("StatelessRandomBinomial(shape: S, seed: Tseed, counts: T, probs: T) -> output: dtype",
		"S: indices", "Tseed: indices = int64", "T: {float16, float32, float64} = float64", "dtype: {float16, float32, float64, int32, int64} = int64").state(Random).grows()
	StatelessMultinomial = define("StatelessMultinomial(logits: T, num_samples: int32, seed: Tseed) -> output: output_dtype",
		"T: reals", "Tseed: indices = int64", "output_dtype: indices = int64").state(Random).grows()
	StatelessParameterizedTruncatedNormal = define("StatelessParameterizedTruncatedNormal(shape: S, seed: Tseed, means: dtype, stddevs: dtype, minvals: dtype, maxvals: dtype) -> output: dtype",
		"S: indices", "Tseed: indices = int64", "dtype: floats").state(Random).grows()
)

// Random numbers of a node's own state, which goes on from run to run.
var (
	RandomUniform        = define("RandomUniform(shape: T unread) -> output: dtype", "seed: int = 0", "seed2: int = 0", "dtype: floats", "T: indices").state(Random).grows()
	RandomStandardNormal = define("RandomStandardNormal(shape: T unread) -> output: dtype", "seed: int = 0", "seed2: int = 0", "dtype: floats", "T: indices").state(Random).grows()
	TruncatedNormal      = define("TruncatedNormal(shape: T unread) -> output: dtype", "seed: int = 0", "seed2: int = 0", "dtype: floats", "T: indices").state(Random).grows()
	RandomUniformInt     = define("RandomUniformInt(shape: T unread, minval: Tout, maxval: Tout) -> output: Tout", "seed: int = 0", "seed2: int = 0", "Tout: indices", "T: indices").state(Random).grows()
	RandomShuffle        = define("RandomShuffle(value: T) -> output: T", "seed: int = 0", "seed2: int = 0").state(Random).sameShape()
	Multinomial          = define("Multinomial(logits: T, num_samples: int32) -> output: output_dtype", "seed: int = 0", "seed2: int = 0", "T: reals", "output_dtype: indices = int64").state(Random).grows()
	RandomGamma          = define("RandomGamma(shape: S, alpha: T) -> output: T", "seed: int = 0", "seed2: int = 0", "S: indices", "T: floats").state(Random).grows()
	RandomPoissonV2      = define("RandomPoissonV2(shape: S, rate: R) -> output: dtype", "seed: int = 0", "seed2: int = 0", "S: indices",
		"R: {float16, float32, float64, int32, int64} = float64", "dtype: {float16, float32, float64, int32, int64} = int64").state(Random).grows()
	ParameterizedTruncatedNormal = define("ParameterizedTruncatedNormal(shape: T, means: dtype, stdevs: dtype, minvals: dtype, maxvals: dtype) -> output: dtype",
		"seed: int = 0", "seed2: int = 0", "dtype: floats", "T: indices").state(Random).grows()
	NonDeterministicInts = define("NonDeterministicInts(shape: shape_dtype unread) -> output: dtype", "dtype: {int32, int64, uint32, uint64} = int64", "shape_dtype: indices = int64").state(Random).grows()
)

// Candidates that a sampled loss compares the true classes with.
var (
	UniformCandidateSampler = define("UniformCandidateSampler(true_classes: int64) -> sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32",
		"num_true: int", "num_sampled: int", "unique: bool", "range_max: int", "seed: int = 0", "seed2: int = 0").state(Random).grows()
	LogUniformCandidateSampler = define("LogUniformCandidateSampler(true_classes: int64) -> sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32",
		"num_true: int", "num_sampled: int", "unique: bool", "range_max: int", "seed: int = 0", "seed2: int = 0").state(Random).grows()
	ComputeAccidentalHits = define("ComputeAccidentalHits(true_classes: int64, sampled_candidates: int64) -> indices: int32, ids: int64, weights: float32",
		"num_true: int", "seed: int = 0", "seed2: int = 0")
)

// Random numbers of the state in a variable: tf.random.Generator.
var (
	StatefulUniform = define("StatefulUniform(resource: resource, algorithm: int64, shape: shape_dtype unread) -> output: dtype",
		"dtype: floats = float32", "shape_dtype: indices = int64").state(Writes).grows()
	StatefulStandardNormalV2 = define("StatefulStandardNormalV2(resource: resource, algorithm: int64, shape: shape_dtype unread) -> output: dtype",
		"dtype: floats = float32", "shape_dtype: indices = int64").state(Writes).grows()
	StatefulTruncatedNormal = define("StatefulTruncatedNormal(resource: resource, algorithm: int64, shape: shape_dtype unread) -> output: dtype",
		"dtype: floats = float32", "shape_dtype: indices = int64").state(Writes).grows()
	StatefulUniformInt = define("StatefulUniformInt(resource: resource, algorithm: int64, shape: shape_dtype unread, minval: dtype, maxval: dtype) -> output: dtype",
		"dtype: {int32, int64, uint32, uint64} = int64", "shape_dtype: indices = int64").state(Writes).grows()
	StatefulUniformFullInt = define("StatefulUniformFullInt(resource: resource, algorithm: int64, shape: shape_dtype unread) -> output: dtype",
		"dtype: {int32, int64, uint32, uint64} = uint64", "shape_dtype: indices = int64").state(Writes).grows()
	StatefulRandomBinomial = define("StatefulRandomBinomial(resource: resource, algorithm: int64, shape: S, counts: T, probs: T) -> output: dtype",
		"S: indices", "T: {float16, float32, float64} = float64", "dtype: {float16, float32, float64, int32, int64} = int64").state(Writes).grows()
	RngSkip                             = define("RngSkip(resource: resource, algorithm: int64, delta: int64)").state(Writes)
	RngReadAndSkip                      = define("RngReadAndSkip(resource: resource, alg: int32, delta: uint64) -> value: int64").state(Writes)
	AllCandidateSampler                 = define("AllCandidateSampler(true_classes: int64) -> sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32", "num_true: int", "num_sampled: int", "unique: bool", "seed: int = 0", "seed2: int = 0").state(Random)
	FixedUnigramCandidateSampler        = define("FixedUnigramCandidateSampler(true_classes: int64) -> sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32", "num_true: int", "num_sampled: int", "unique: bool", "range_max: int", "vocab_file: string = ''", "distortion: float = 1.0", "num_reserved_ids: int = 0", "num_shards: int = 1", "shard: int = 0", "unigrams: list(float) = []", "seed: int = 0", "seed2: int = 0").state(Random)
	LearnedUnigramCandidateSampler      = define("LearnedUnigramCandidateSampler(true_classes: int64) -> sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32", "num_true: int", "num_sampled: int", "unique: bool", "range_max: int", "seed: int = 0", "seed2: int = 0").state(Random)
	ThreadUnsafeUnigramCandidateSampler = define("ThreadUnsafeUnigramCandidateSampler(true_classes: int64) -> sampled_candidates: int64, true_expected_count: float32, sampled_expected_count: float32", "num_true: int", "num_sampled: int", "unique: bool", "range_max: int", "seed: int = 0", "seed2: int = 0").state(Random)
)
