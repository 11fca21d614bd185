package export

// ServingInput says how an exported model is fed.
type ServingInput struct{ parsing bool }

// Raw feeds each column by a placeholder of its own. A ragged column is a dense
// tensor [batch, longest], in which -1, "" and NaN stand for nothing. Signatures to
// classify and regress are left out, since TensorFlow Serving feeds them examples.
func Raw() ServingInput { return ServingInput{} }

// Parsing feeds serialized tf.train.Examples by one placeholder of strings.
func Parsing() ServingInput { return ServingInput{parsing: true} }

// String is "raw" or "parsing".
func (s ServingInput) String() string {
	if s.parsing {
		return "parsing"
	}
	return "raw"
}
