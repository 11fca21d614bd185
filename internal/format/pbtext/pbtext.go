// Package pbtext reads protocol buffers in text form. Its errors have
// TensorFlow's wording, which scripts look for.
package pbtext

import (
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// place matches the line and column in an error of package prototext, which
// varies its spaces so that nobody relies on the text.
var place = regexp.MustCompile(`^(?:syntax error[\s\x{a0}]+)?\(line (\d+):(\d+)\):[\s\x{a0}]*`)

// Unmarshal reads text into m. An error is "Error parsing text-format
// tensorflow.serving.ModelServerConfig: 3:12: unknown field: nam".
func Unmarshal(text []byte, m proto.Message) error {
	err := prototext.Unmarshal(text, m)
	if err == nil {
		return nil
	}
	why := strings.TrimLeft(strings.TrimPrefix(err.Error(), "proto:"), " \u00a0")
	why = place.ReplaceAllString(why, "$1:$2: ")
	return fmt.Errorf("Error parsing text-format %s: %s", m.ProtoReflect().Descriptor().FullName(), why)
}
