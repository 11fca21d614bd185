// Package pbtext reads protocol buffers in text form and says what is wrong with
// one in the words of TensorFlow, which scripts look for.
package pbtext

import (
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
)

// place is how package prototext tells the line and column of a mistake. It
// separates words by one kind of space or another, so that nobody relies on it.
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
