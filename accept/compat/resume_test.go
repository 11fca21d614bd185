package compat

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestResume resumes the checkpoints of interrupted training runs: losses, metrics and every byte of the next
// checkpoint must equal those of the earlier commit.
func TestResume(t *testing.T) {
	for _, job := range jobs {
		t.Run(job, func(t *testing.T) {
			if *rewrite {
				interrupt(t, job)
			}
			atEachLevel(t, func(t *testing.T, level string) {
				copied(t, "jobs", job)
				compared(t, resumed(t), "jobs", job, level+".json")
			})
		})
	}
}

// TestTrain trains from the start: the first 23 steps must produce the checkpoint that TestResume resumes.
func TestTrain(t *testing.T) {
	for _, job := range jobs {
		t.Run(job, func(t *testing.T) {
			atEachLevel(t, func(t *testing.T, level string) {
				if level != "portable" {
					t.Skip("skipped: recorded at the level portable alone")
				}
				copied(t, "jobs", job)
				if err := os.RemoveAll("run"); err != nil {
					t.Fatal(err)
				}
				command(t, "train", "--config", "job.yaml", "--quiet")
				for _, name := range []string{"model.ckpt-23.index", "model.ckpt-23.data-00000-of-00001"} {
					b, err := os.ReadFile(filepath.Join("run", name))
					if err != nil {
						t.Fatal(err)
					}
					compared(t, string(b), "jobs", job, "run", name)
				}
			})
		})
	}
}

// resumed trains from step 23 to step 40 and returns the results.
func resumed(t *testing.T) string {
	t.Helper()
	var result struct {
		Metrics map[string]float64 `json:"metrics"`
	}
	unmarshal(t, command(t, "train", "--config", "run/config.yaml", "--set", "train.max_steps=40", "--quiet", "--json"), &result)
	var losses struct {
		Values []struct {
			Step  int64
			Value float64
		} `json:"values"`
	}
	unmarshal(t, command(t, "inspect", "events", "run", "--tag", "loss", "--json"), &losses)
	out := struct {
		Losses  map[string]float64 `json:"losses"`
		Metrics map[string]float64 `json:"metrics"`
		Tensors map[string]string  `json:"tensors"`
		Files   map[string]string  `json:"files"`
	}{map[string]float64{}, result.Metrics, tensors(t), map[string]string{}}
	for _, v := range losses.Values {
		out.Losses[fmt.Sprintf("%02d", v.Step)] = v.Value
	}
	for _, name := range []string{"model.ckpt-40.index", "model.ckpt-40.data-00000-of-00001"} {
		b, err := os.ReadFile(filepath.Join("run", name))
		if err != nil {
			t.Fatal(err)
		}
		out.Files[name] = sum(b)
	}
	text, err := json.MarshalIndent(out, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// tensors returns a checksum of the printed elements of each tensor of the newest checkpoint. It shows which tensor
// differs if the checksums of the files differ.
func tensors(t *testing.T) map[string]string {
	t.Helper()
	var list struct {
		Tensors []struct{ Name string } `json:"tensors"`
	}
	unmarshal(t, command(t, "inspect", "checkpoint", "run", "--json"), &list)
	out := map[string]string{}
	for _, x := range list.Tensors {
		out[x.Name] = sum([]byte(command(t, "inspect", "checkpoint", "run", "--values", x.Name)))
	}
	return out
}

func sum(b []byte) string {
	s := sha256.Sum256(b)
	return hex.EncodeToString(s[:8])
}

func unmarshal(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// interrupt records the model_dir of a training run that ends after 23 steps.
func interrupt(t *testing.T, job string) {
	restore, _ := setLevel("portable")
	defer restore()
	to := filepath.Join(testdata, "jobs", job, "run")
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	copied(t, "jobs", job)
	command(t, "train", "--config", "job.yaml", "--quiet")
	if err := os.Mkdir(to, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"checkpoint", "config.yaml", "state.json", "model.ckpt-23.index", "model.ckpt-23.data-00000-of-00001"} {
		b, err := os.ReadFile(filepath.Join("run", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(to, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
