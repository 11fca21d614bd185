package config

// retired are keys of earlier versions, each with the one value that a config may
// still have, as the resolved configs of earlier runs do.
var retired = map[string]string{
	"run.blas": "go", // products by another library were never there
}

// retire reports whether a key is a retired one; another value than that of earlier
// runs is a violation.
func (l *layer) retire(path string, value any) bool {
	only, ok := retired[path]
	if ok && value != nil && value != only {
		l.bad(path, value, "which is no key any more: leave it out")
	}
	return ok
}
