package export

// InputForm says how an exported model is fed.
type InputForm struct{ parsing bool }

// Raw feeds each column through its own placeholder. A ragged column is a dense
// tensor [batch, longest], in which -1, "" and NaN are padding. Classify and Regress
// signatures are left out, since TensorFlow Serving feeds them examples.
func Raw() InputForm { return InputForm{} }

// Parsing feeds serialized tf.train.Examples through one placeholder of strings.
func Parsing() InputForm { return InputForm{parsing: true} }

// String is "raw" or "parsing".
func (s InputForm) String() string {
	if s.parsing {
		return "parsing"
	}
	return "raw"
}
