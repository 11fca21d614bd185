package export

// InputForm says how an exported model is fed.
type InputForm struct{ parsing bool }

// Raw feeds each column by a placeholder of its own. A ragged column is a dense
// tensor [batch, longest], in which -1, "" and NaN stand for nothing. Signatures to
// classify and regress are left out, since TensorFlow Serving feeds them examples.
func Raw() InputForm { return InputForm{} }

// Parsing feeds serialized tf.train.Examples by one placeholder of strings.
func Parsing() InputForm { return InputForm{parsing: true} }

// String is "raw" or "parsing".
func (s InputForm) String() string {
	if s.parsing {
		return "parsing"
	}
	return "raw"
}
