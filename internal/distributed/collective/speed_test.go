//go:build unix

package collective

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/goestimator/goestimator/tensor"
)

// BenchmarkAllReduce measures workers in one process, over sockets. cpu-ns/B is
// the processor time of all of them for each byte that one of them sends.
func BenchmarkAllReduce(b *testing.B) {
	for _, n := range []int{2, 4} {
		for _, size := range []int{4 << 10, 1 << 20, 16 << 20, 100 << 20} {
			b.Run(fmt.Sprintf("%dx%dKB", n, size>>10), func(b *testing.B) {
				s := newSite(b, n, true)
				groups := s.form(b, 0, nil)
				defer closeAll(groups)
				tensors := make([][]*tensor.Tensor, n)
				for i := range tensors {
					tensors[i] = []*tensor.Tensor{tensor.New(tensor.Float32, size/4)}
				}
				run := func(steps int) {
					all(b, n, func(rank int) error {
						for range steps {
							if err := groups[rank].AllReduce(context.Background(), tensors[rank], Sum); err != nil {
								return err
							}
						}
						return nil
					})
				}
				run(1)
				sent := size / n * 2 * (n - 1)
				b.SetBytes(int64(sent))
				before := processorTime()
				b.ResetTimer()
				run(b.N)
				b.ReportMetric(float64((processorTime()-before).Nanoseconds())/float64(b.N)/float64(n*sent), "cpu-ns/B")
			})
		}
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
