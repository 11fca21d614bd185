package keras

import (
	"io"
	"regexp"
	"strings"

	"github.com/goestimator/goestimator/internal/format/hdf5"
	"github.com/goestimator/goestimator/internal/format/tensorfile"
)

// modelWeights is the group of weights in the file of a whole model.
const modelWeights = "model_weights/"

// output ends the names of variables: the number of an operation's output.
var output = regexp.MustCompile(`:\d+$`)

// ReadH5 lists the datasets of an HDF5 file of size bytes. Those in a group of a layer, as "Conv1/Conv1/kernel:0", get the
// name of the variable, unless two have the same; others keep their paths.
func ReadH5(r io.ReaderAt, size int64) ([]tensorfile.Entry, error) {
	list, err := hdf5.Read(r, size)
	if err != nil {
		return nil, err
	}
	return rename(list, variable), nil
}

// variable is the name of the variable at a path, "" where the path says none.
func variable(path string) string {
	name, ok := strings.CutPrefix(path, modelWeights)
	cut := output.ReplaceAllString(name, "")
	_, inner, below := strings.Cut(cut, "/")
	if !below || cut == name || !ok && !strings.Contains(inner, "/") {
		return ""
	}
	return inner
}

// rename gives entries the names that are theirs alone.
func rename(list []tensorfile.Entry, of func(path string) string) []tensorfile.Entry {
	count := map[string]int{}
	for _, e := range list {
		count[e.Name]++
		count[of(e.Name)]++
	}
	for i, e := range list {
		if name := of(e.Name); name != "" && count[name] == 1 {
			list[i].Name = name
		}
	}
	return list
}
