package cli

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/goestimator/goestimator/distribute"
	"github.com/goestimator/goestimator/internal/platform/diskspace"
	"github.com/goestimator/goestimator/internal/platform/hostmemory"
	"github.com/goestimator/goestimator/internal/runtime/cuda"
	"github.com/goestimator/goestimator/internal/runtime/kernels"
	"github.com/goestimator/goestimator/runconfig"
	"github.com/spf13/cobra"
)

// servingPorts are the ports that `serve` listens on by default.
var servingPorts = []int{8500, 8501}

func (a *app) doctorCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "say what this machine offers: cores, SIMD, BLAS, GPU, memory, ports",
		Long: `Says what this machine offers to training and serving: cores, instruction set and
measured speed of matrix products, memory, disk, GPU and OpenBLAS libraries, the
role that TF_CONFIG gives, and whether the ports of serving are free. It takes
less than a second and changes nothing.`,
		Example: "  goestimator doctor --json",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			facts := examine(a.thisBuild())
			if asJSON {
				out := map[string]any{}
				for _, f := range facts {
					out[f.name] = f.value
				}
				return a.printJSON(out)
			}
			for _, f := range facts {
				if _, err := fmt.Fprintf(a.stdout, "%-23s %s\n", f.name, factText(f.value)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	addJSONFlag(cmd, &asJSON)
	return cmd
}

// fact is one thing that doctor found out. A nil value is unknown.
type fact struct {
	name  string
	value any
}

func factText(v any) string {
	switch x := v.(type) {
	case nil:
		return "unknown"
	case []string:
		if len(x) == 0 {
			return "none"
		}
		return strings.Join(x, ", ")
	case []distribute.Device:
		var all []string
		for _, d := range x {
			all = append(all, fmt.Sprintf("%s (%s)", d.Name, d.Description))
		}
		return strings.Join(all, ", ")
	case int64:
		return fmt.Sprintf("%.1f GiB", float64(x)/(1<<30))
	case float64:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprint(v)
}

func examine(b build) []fact {
	facts := append(buildFacts(b),
		fact{"cores", runtime.NumCPU()},
		fact{"gomaxprocs", runtime.GOMAXPROCS(0)},
		fact{"simd", kernels.ActiveLevel().String()},
		fact{"matmul_gflops", gemmSpeed()},
		fact{"memory_bytes", known(hostmemory.Total())},
		fact{"memory_available_bytes", known(hostmemory.Available())},
		fact{"disk_free_bytes", diskFree()})
	devices, _ := distribute.ListDevices() // the facts below say why there is no GPU
	facts = append(facts, fact{"devices", devices})
	facts = append(facts, gpuFacts(cuda.Detect(), listedGPUs())...)
	facts = append(facts,
		fact{"openblas", findLibrary("libopenblas.so")},
		fact{"tf_config_role", role()})
	for _, port := range servingPorts {
		facts = append(facts, fact{fmt.Sprintf("port_%d", port), portState(port)})
	}
	return facts
}

// buildFacts describe this binary.
func buildFacts(b build) []fact {
	return []fact{
		{"goestimator", strings.TrimSpace(cmp.Or(b.Framework, b.Version) + " " + b.Commit)},
		{"go", b.Go},
		{"platform", b.Platform},
	}
}

// gemmSpeed measures float32 matrix products of 512x512 for a fifth of a second.
func gemmSpeed() float64 {
	const n = 512
	x, y, z := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
	for i := range x {
		x[i], y[i] = float32(i%7)-3, float32(i%5)-2
	}
	args := kernels.GemmArgs[float32]{M: n, N: n, K: n, Alpha: 1, A: x, LDA: n, B: y, LDB: n, C: z, LDC: n}
	kernels.Gemm(args) // starts the workers
	count, start := 0, time.Now()
	for time.Since(start) < 200*time.Millisecond {
		kernels.Gemm(args)
		count++
	}
	return 2 * n * n * n * float64(count) / time.Since(start).Seconds() / 1e9
}

// role describes the task that TF_CONFIG gives this process.
func role() string {
	text := os.Getenv("TF_CONFIG")
	if text == "" {
		return "none: TF_CONFIG is not set"
	}
	rc, err := runconfig.FromTFConfig(text)
	if err != nil {
		return "broken: " + oneLine(err)
	}
	return fmt.Sprintf("%s %d of %d workers and %d ps", rc.TaskType(), rc.TaskID(), rc.NumWorkers(), rc.NumPS())
}

func portState(port int) string {
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return "taken"
	}
	l.Close()
	return "free"
}

// diskFree is the free disk space here, in bytes; nil if unknown.
func diskFree() any {
	if n, ok := diskspace.Free("."); ok {
		return n
	}
	return nil
}
