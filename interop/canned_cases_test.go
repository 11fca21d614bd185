package interop_test

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/tensor"
)

// cannedCase is a canned model that both sides build.
type cannedCase struct {
	Name    string           `json:"name"`
	Class   string           `json:"class"` // of tf.estimator
	Params  estimator.Params `json:"params"`
	Label   string           `json:"label"`
	Columns []feature.Spec   `json:"columns"`
	Batch   int              `json:"batch"`
	Steps   int              `json:"steps"`
	More    int              `json:"more"` // steps after continuing from the other side's checkpoint

	model string // our name
}

const (
	cannedBatch = 32
	cannedSteps = 200
	cannedMore  = 40
)

// cannedColumns are the columns for the cases.
var cannedColumns = []feature.Spec{
	{Name: "age", Type: "numeric", Key: "age", Normalize: feature.NormalizeSpec{Mean: []float64{40}, Std: []float64{12}}},
	{Name: "pair", Type: "numeric", Key: "pair", Shape: []int{2}},
	{Name: "raw_age", Type: "numeric", Key: "age"},
	{Name: "ages", Type: "bucketized", Of: "raw_age", Boundaries: []float64{20, 30, 40.5, 60}},
	{Name: "job", Type: "vocabulary", Key: "job", Vocabulary: []string{"baker", "nurse", "smith"}, OOVBuckets: 2},
	{Name: "city", Type: "hash_bucket", Key: "city", Buckets: 30},
	{Name: "home", Type: "hash_bucket", Key: "home", Buckets: 30},
	{Name: "level", Type: "identity", Key: "level", Buckets: 7},
	{Name: "cross", Type: "crossed", Buckets: 100, Keys: []feature.CrossPart{{Key: "job"}, {Column: "ages"}, {Key: "level"}}},
	{Name: "words", Type: "hash_bucket", Key: "words", Buckets: 40},
	{Name: "weighted_words", Type: "weighted", Of: "words", WeightKey: "weights"},
	{Name: "job_present", Type: "indicator", Of: "job"},
	{Name: "words_counted", Type: "indicator", Of: "weighted_words"},
	{Name: "job_vector", Type: "embedding", Of: "job", Dimension: 4},
	{Name: "words_vector", Type: "embedding", Of: "words", Dimension: 3, Combiner: "sqrtn", MaxNorm: 0.5},
	{Name: "weighted_vector", Type: "embedding", Of: "weighted_words", Dimension: 3, Combiner: "mean"},
	{Name: "level_vector", Type: "embedding", Of: "level", Dimension: 2, Combiner: "sum"},
	// Frozen, since tf.estimator never trains a shared table: its variable does not belong to the model.
	{Type: "shared_embeddings", Columns: []string{"city", "home"}, Dimension: 3, Frozen: true},
}

// number sets a case's name to its index, its class, and its previous name.
func (c *cannedCase) number(i int) {
	parts := []string{fmt.Sprintf("%02d", i), c.Class}
	if c.Name != "" {
		parts = append(parts, c.Name)
	}
	c.Name = strings.Join(parts, "_")
}

// cannedCases are the models to compare.
func cannedCases() []cannedCase {
	wide := []string{"age", "ages", "job", "city", "cross", "words"}
	deep := []string{"age", "pair", "ages", "job_present", "job_vector", "words_vector", "level_vector"}
	list := []cannedCase{
		{Class: "LinearClassifier", Label: "label2", Params: estimator.Params{"feature_columns": wide}},
		{Class: "LinearClassifier", Label: "label3", Params: estimator.Params{"feature_columns": []string{"weighted_words", "level", "age"}, "n_classes": 3,
			"sparse_combiner": "mean", "weight_column": "importance", "optimizer": "Adam"}},
		{Class: "LinearRegressor", Label: "label_number", Params: estimator.Params{"feature_columns": []string{"pair", "job", "words_vector", "job_present"},
			"optimizer": map[string]any{"name": "Ftrl", "learning_rate": 0.05, "l1": 0.01, "l2": 0.02}}},
		{Class: "LinearEstimator", Label: "label_count", Params: estimator.Params{"feature_columns": wide, "head": "poisson",
			"optimizer": map[string]any{"name": "SGD", "learning_rate": 0.005, "momentum": 0.5}}},
		{Class: "DNNClassifier", Label: "label2", Params: estimator.Params{"feature_columns": deep, "hidden_units": []int{16, 8}}},
		{Class: "DNNClassifier", Label: "label_word", Params: estimator.Params{"feature_columns": deep, "hidden_units": []int{16, 8}, "n_classes": 3, "batch_norm": true,
			"label_vocabulary": []string{"low", "mid", "high"}, "optimizer": map[string]any{"name": "Adagrad", "learning_rate": 0.05}, "activation_fn": "tanh"}},
		{Class: "DNNRegressor", Label: "label_number", Params: estimator.Params{"feature_columns": []string{"pair", "words_counted", "weighted_vector"},
			"hidden_units": []int{12}, "optimizer": map[string]any{"name": "RMSProp", "learning_rate": 0.001}, "activation_fn": "tanh"}},
		{Class: "DNNEstimator", Label: "label_share", Params: estimator.Params{"feature_columns": deep, "hidden_units": []int{12}, "head": "logistic",
			"optimizer": map[string]any{"name": "Adam", "learning_rate": 0.003}, "activation_fn": "tanh"}},
		{Class: "DNNLinearCombinedClassifier", Label: "label2", Params: estimator.Params{"linear_feature_columns": wide, "dnn_feature_columns": deep,
			"dnn_hidden_units": []int{16, 8}}},
		{Class: "DNNLinearCombinedRegressor", Label: "label_number", Params: estimator.Params{"linear_feature_columns": wide, "dnn_feature_columns": deep,
			"dnn_hidden_units": []int{16, 8}, "dnn_optimizer": "Adam", "linear_optimizer": "Adam", "dnn_activation_fn": "tanh"}},
		{Class: "DNNLinearCombinedClassifier", Label: "label2", Params: estimator.Params{"linear_feature_columns": []string{"job"}, "dnn_feature_columns": []string{"age", "city_shared_embedding", "home_shared_embedding"},
			"dnn_hidden_units": []int{8}, "dnn_optimizer": "SGD", "linear_optimizer": "Adagrad"}},
		{Name: "clip_value", Class: "DNNClassifier", Label: "label2", Params: estimator.Params{"feature_columns": deep, "hidden_units": []int{8}, "activation_fn": "tanh",
			"optimizer": map[string]any{"name": "SGD", "learning_rate": 0.5, "clip_value": 0.001}}},
		{Name: "clip_norm", Class: "LinearClassifier", Label: "label3", Params: estimator.Params{"feature_columns": wide, "n_classes": 3,
			"optimizer": map[string]any{"name": "SGD", "learning_rate": 0.5, "momentum": 0.5, "clip_norm": 0.01}}},
		{Name: "global_clip_norm", Class: "DNNRegressor", Label: "label_number", Params: estimator.Params{"feature_columns": []string{"weighted_vector", "words_vector", "level_vector"},
			"hidden_units": []int{8}, "activation_fn": "tanh", "optimizer": map[string]any{"name": "SGD", "learning_rate": 0.5, "global_clip_norm": 0.02}}},
		{Class: "BaselineClassifier", Label: "label3", Params: estimator.Params{"n_classes": 3}},
		{Class: "BaselineRegressor", Label: "label_number", Params: estimator.Params{"weight_column": "importance"}},
	}
	names := map[string]string{"LinearClassifier": "linear_classifier", "LinearRegressor": "linear_regressor", "LinearEstimator": "linear_estimator",
		"DNNClassifier": "dnn_classifier", "DNNRegressor": "dnn_regressor", "DNNEstimator": "dnn_estimator",
		"DNNLinearCombinedClassifier": "dnn_linear_combined_classifier", "DNNLinearCombinedRegressor": "dnn_linear_combined_regressor",
		"BaselineClassifier": "baseline_classifier", "BaselineRegressor": "baseline_regressor"}
	for i := range list {
		c := &list[i]
		c.number(i)
		c.Columns, c.Batch, c.Steps, c.More, c.model = cannedColumns, cannedBatch, cannedSteps, cannedMore, names[c.Class]
	}
	return list
}

// cannedData makes random examples; labels depend on the features, so that there is
// something to learn.
func cannedData(n int) map[string]*tensor.Tensor {
	r := rand.New(rand.NewPCG(3, 5))
	jobs := []string{"baker", "nurse", "smith", "clerk", "", "judge"}
	texts := func(pick func(i int) string) *tensor.Tensor {
		t := tensor.New(tensor.String, n)
		for i := range n {
			t.Strings[i] = []byte(pick(i))
		}
		return t
	}
	d := map[string]*tensor.Tensor{
		"age": tensor.New(tensor.Float32, n), "pair": tensor.New(tensor.Float32, n, 2), "level": tensor.New(tensor.Int64, n),
		"importance": tensor.New(tensor.Float32, n), "offsets": tensor.New(tensor.Int64, n+1),
		"label2": tensor.New(tensor.Int64, n), "label3": tensor.New(tensor.Int64, n), "label_number": tensor.New(tensor.Float32, n),
		"label_count": tensor.New(tensor.Float32, n), "label_share": tensor.New(tensor.Float32, n),
	}
	job := make([]int, n)
	words, weights := [][]byte{}, []float32{}
	for i := range n {
		job[i] = r.IntN(len(jobs))
		age := float32(18 + r.IntN(60))
		tensor.Values[float32](d["age"])[i] = age
		x, y := r.NormFloat64(), r.NormFloat64()
		tensor.Values[float32](d["pair"])[2*i], tensor.Values[float32](d["pair"])[2*i+1] = float32(x), float32(y)
		level := r.IntN(7)
		tensor.Values[int64](d["level"])[i] = int64(level)
		tensor.Values[float32](d["importance"])[i] = float32(1+r.IntN(4)) / 2
		count := r.IntN(6)
		for range count {
			words = append(words, fmt.Appendf(nil, "w%d", r.IntN(60)))
			weights = append(weights, float32(1+r.IntN(8))/4)
		}
		tensor.Values[int64](d["offsets"])[i+1] = int64(len(words))
		score := float64(age-45)/20 + float64(job[i]%3-1) + x - y/2 + float64(level-3)/4 + r.NormFloat64()
		if score > 0 {
			tensor.Values[int64](d["label2"])[i] = 1
		}
		tensor.Values[int64](d["label3"])[i] = int64(min(max(int(score+1.5), 0), 2))
		tensor.Values[float32](d["label_number"])[i] = float32(score)
		tensor.Values[float32](d["label_count"])[i] = float32(max(0, int(score+2)))
		tensor.Values[float32](d["label_share"])[i] = float32(min(max(0.5+score/8, 0), 1))
	}
	d["job"] = texts(func(i int) string { return jobs[job[i]] })
	d["city"] = texts(func(int) string { return fmt.Sprintf("city %d", r.IntN(80)) })
	d["home"] = texts(func(int) string { return fmt.Sprintf("city %d", r.IntN(80)) })
	d["label_word"] = texts(func(i int) string { return []string{"low", "mid", "high"}[tensor.Values[int64](d["label3"])[i]] })
	d["words"] = &tensor.Tensor{DType: tensor.String, Shape: []int{len(words)}, Strings: words}
	d["weights"] = tensor.New(tensor.Float32, len(weights))
	copy(tensor.Values[float32](d["weights"]), weights)
	return d
}
