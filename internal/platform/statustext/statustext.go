package statustext

import (
	"strings"

	"google.golang.org/grpc/status"
)

// Of returns the text of err, in which each status that err is or wraps is reduced to its message. For nil it is "".
func Of(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	each(err, func(s error, message string) {
		text = strings.ReplaceAll(text, s.Error(), message)
	})
	return text
}

// Convert is status.Convert with the text of Of: its code is that of the first status in err, or Unknown.
func Convert(err error) *status.Status {
	s := status.Convert(err)
	if err == nil || s.Message() == Of(err) {
		return s
	}
	p := s.Proto()
	p.Message = Of(err)
	return status.FromProto(p)
}

// each calls f for the statuses that err is or wraps, the outer ones first, with their messages.
func each(err error, f func(s error, message string)) {
	if s, ok := err.(interface{ GRPCStatus() *status.Status }); ok && s.GRPCStatus() != nil {
		f(err, s.GRPCStatus().Message())
	}
	switch w := err.(type) {
	case interface{ Unwrap() error }:
		if w.Unwrap() != nil {
			each(w.Unwrap(), f)
		}
	case interface{ Unwrap() []error }:
		for _, e := range w.Unwrap() {
			each(e, f)
		}
	}
}
