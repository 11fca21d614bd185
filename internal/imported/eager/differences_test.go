package eager

// Reasons why a case differs from TensorFlow.
const (
	unset       = "TensorFlow leaves memory unset where no index says what is there"
	unchecked   = "TensorFlow reads beyond what was given, or does not look at all of it"
	memoryBound = "a list is bounded by memory, not by max_num_elements"
	tooLarge    = "tensors that no memory holds are refused earlier"
	sessions    = "a session's variables live as long as it"
	lenient     = "a shape that nothing needs is not asked for"
)

// differences are the recorded cases in which we differ from TensorFlow, and why.
var differences = map[string]string{
	"sequence push rows, EmptyTensorList limits":    tooLarge,
	"sequence push words, EmptyTensorList limits":   tooLarge,
	"sequence push numbers, EmptyTensorList limits": tooLarge,
	"sequence push rows, EmptyTensorList zeros":     memoryBound,
	"sequence push words, EmptyTensorList zeros":    memoryBound,
	"sequence push numbers, EmptyTensorList zeros":  memoryBound,
	"sequence first concat of any shape":            lenient,
	"sequence destroyed floats":                     sessions,
	"sequence destroyed integers":                   sessions,
	"sequence destroyed words":                      sessions,
}
