package interop_test

import (
	"os"
	"testing"

	"github.com/goestimator/goestimator/estimator"
	"github.com/goestimator/goestimator/inputs/feature"
	"github.com/goestimator/goestimator/tensor"
)

// rnnColumns are sequence columns, and context columns, which are repeated at every step. Some examples
// have empty sequences.
var rnnColumns = []feature.Spec{
	{Name: "age", Type: "numeric", Key: "age", Normalize: feature.NormalizeSpec{Mean: []float64{40}, Std: []float64{12}}},
	{Name: "job", Type: "vocabulary", Key: "job", Vocabulary: []string{"baker", "nurse", "smith"}, OOVBuckets: 2},
	{Name: "job_vector", Type: "embedding", Of: "job", Dimension: 4},
	{Name: "words", Type: "hash_bucket", Key: "words", Buckets: 40, Sequence: true},
	{Name: "words_vector", Type: "embedding", Of: "words", Dimension: 5},
	{Name: "known", Type: "vocabulary", Key: "words", Vocabulary: []string{"w1", "w2", "w3", "w5", "w8"}, Sequence: true},
	{Name: "known_vector", Type: "embedding", Of: "known", Dimension: 3, MaxNorm: 0.5},
	{Name: "known_present", Type: "indicator", Of: "known"},
	{Name: "weights", Type: "numeric", Key: "weights", Sequence: true},
}

func rnnCases() []cannedCase {
	sequence, around := []string{"words_vector", "weights"}, []string{"age", "job_vector"}
	list := []cannedCase{
		{Class: "RNNClassifier", Label: "label2", Params: estimator.Params{"sequence_feature_columns": sequence, "context_feature_columns": around, "units": []int{8}}},
		{Class: "RNNClassifier", Label: "label_word", Params: estimator.Params{"sequence_feature_columns": []string{"known_vector", "weights"}, "units": []int{6, 4}, "cell_type": "lstm",
			"n_classes": 3, "label_vocabulary": []string{"low", "mid", "high"}, "weight_column": "importance", "context_feature_columns": around, "optimizer": map[string]any{"name": "Adam", "learning_rate": 0.003}}},
		{Class: "RNNEstimator", Label: "label_number", Params: estimator.Params{"sequence_feature_columns": []string{"known_present"}, "context_feature_columns": []string{"age"},
			"units": []int{7}, "cell_type": "gru", "head": "regression", "optimizer": map[string]any{"name": "SGD", "learning_rate": 0.02}}},
		{Class: "RNNClassifier", Label: "label_steps", Params: estimator.Params{"sequence_feature_columns": sequence, "units": []int{6}, "cell_type": "gru",
			"return_sequences": true}},
		{Class: "RNNClassifier", Label: "label_steps", Params: estimator.Params{"sequence_feature_columns": []string{"words_vector"}, "context_feature_columns": around, "units": []int{5, 4},
			"cell_type": "lstm", "return_sequences": true, "n_classes": 4, "weight_column": "weights", "optimizer": map[string]any{"name": "Adagrad", "learning_rate": 0.1}}},
		{Class: "RNNClassifier", Label: "label2", Params: estimator.Params{"sequence_feature_columns": sequence, "context_feature_columns": around,
			"units": []int{5, 4, 3}, "cell_type": []string{"lstm", "gru", "lstm"}}},
		// tf.estimator clips the gradients of an optimizer given by name; these cases have larger gradients.
		{Name: "clip_default", Class: "RNNEstimator", Label: "label_large", Params: estimator.Params{"sequence_feature_columns": sequence,
			"units": []int{6}, "head": "regression"}},
		{Name: "clip_named", Class: "RNNEstimator", Label: "label_large", Params: estimator.Params{"sequence_feature_columns": sequence, "context_feature_columns": around,
			"units": []int{6}, "cell_type": "gru", "head": "regression", "optimizer": "SGD"}},
	}
	names := map[string]string{"RNNClassifier": "rnn_classifier", "RNNEstimator": "rnn_estimator"}
	for i := range list {
		c := &list[i]
		c.number(i)
		c.Columns, c.Batch, c.Steps, c.More, c.model = rnnColumns, cannedBatch, cannedSteps, cannedMore, names[c.Class]
	}
	return list
}

// rnnData is cannedData with a label for each word, and a label of large numbers.
func rnnData(n int) map[string]*tensor.Tensor {
	d := cannedData(n)
	words := d["words"].Strings
	d["label_steps"] = tensor.New(tensor.Int64, len(words))
	d["label_large"] = tensor.New(tensor.Float32, n)
	for i, x := range tensor.Values[float32](d["label_number"]) {
		tensor.Values[float32](d["label_large"])[i] = 20 * x
	}
	for i, w := range words {
		tensor.Values[int64](d["label_steps"])[i] = int64(w[len(w)-1]) & 1
	}
	return d
}

// Recurrent models against tf.estimator's, as in TestCannedAgainstTensorFlow.
func TestRecurrentCannedAgainstTensorFlow(t *testing.T) {
	if os.Getenv("GOESTIMATOR_ACCEPT") != "1" {
		t.Skip("skipped: takes minutes (GOESTIMATOR_ACCEPT=1, make parity)")
	}
	sideBySide(t, "rnn.py", rnnCases(), rnnData((cannedSteps+cannedMore)*cannedBatch))
}
