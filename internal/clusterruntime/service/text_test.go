package service

import (
	"context"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/internal/clusterruntime/rpcs"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestLongTexts: errors with long texts keep their code and their beginning.
func TestLongTexts(t *testing.T) {
	for _, n := range []int{10, maxText + 2, 8 << 20} {
		m := Bind("Reset", func(context.Context, *rpcs.ResetRequest) (*rpcs.ResetResponse, error) {
			return nil, status.Error(codes.NotFound, strings.Repeat("é", n/2))
		})
		_, err := Ask[rpcs.ResetResponse](t.Context(), Local{m}, "Reset", &rpcs.ResetRequest{})
		text := status.Convert(err).Message()
		if status.Code(err) != codes.NotFound || !strings.HasPrefix(text, "éé") || len(text) > maxText+20 || strings.ContainsRune(text, '\uFFFD') || strings.HasSuffix(text, "[truncated]") != (n > maxText) {
			t.Errorf("%d bytes: %v with %d bytes", n, status.Code(err), len(text))
		}
	}
}
