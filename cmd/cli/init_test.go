package cli

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goestimator/goestimator/cmd/cli/internal/tabular"
)

// tableFile writes rows of CSV below a header.
func tableFile(t *testing.T, header string, rows int, row func(r int) string) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(header + "\n")
	for r := range rows {
		b.WriteString(row(r) + "\n")
	}
	path := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// initOf runs init and returns what it printed and the config.
func initOf(t *testing.T, table string, flags ...string) (printed, config string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "config.yaml")
	var stdout, stderr bytes.Buffer
	args := append([]string{"init", table, "--out", out, "--model-dir", filepath.Join(t.TempDir(), "model")}, flags...)
	if code := Run(t.Context(), args, &stdout, &stderr); code != 0 {
		t.Fatalf("init: exit code %d: %s", code, stderr.String())
	}
	b, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return stdout.String(), string(b)
}

var triedLine = regexp.MustCompile(`(?m)^tried (.+): (?:rmse|average_loss) (\S+)$`)

// TestInitSearch: the config has the best model tried, and the search continued from the best known one.
func TestInitSearch(t *testing.T) {
	table := tableFile(t, "a,b,y", 40, func(r int) string {
		a, b := r*7%40, r*11%40
		return fmt.Sprintf("%d,%d,%d", a, b, 1000*(a/20)+500*(a/20^b/20)+r%3) // a step function, which networks learn badly

	})
	printed, config := initOf(t, table, "--label", "y", "--search-secs", "1000")
	best, what, list := math.Inf(1), "", triedLine.FindAllStringSubmatch(printed, -1)
	for _, m := range list {
		score, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		if score < best {
			best, what = score, m[1]
		}
	}
	if len(list) < 8 {
		t.Errorf("%d models were tried, expected the known ones and some near the best:\n%s", len(list), printed)
	}
	var trees, depth int
	if _, err := fmt.Sscanf(what, "boosted trees (%d trees of depth %d,", &trees, &depth); err != nil {
		t.Fatalf("%v: %s", err, what)
	}
	if !strings.Contains(config, fmt.Sprintf("n_trees: %d\n    max_depth: %d\n", trees, depth)) {
		t.Errorf("the best is %s, the config has\n%s", what, config)
	}
}

// TestInitNetworks: networks and linear models are tried for labels of any size. They train on labels scaled to a deviation of 1, and
// learn a plane that trees do not.
func TestInitNetworks(t *testing.T) {
	table := tableFile(t, "a,kind,y", 120, func(r int) string {
		a := r * 37 % 120
		return fmt.Sprintf("%d,%s,%d", a, []string{"x", "y"}[r*r%7%2], 1_000_000+5000*a+r*r%7%2*90_000)
	})
	p, err := tabular.Read(t.Context(), table, tabular.Options{Label: "y"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := newDraft(p, filepath.Join(t.TempDir(), "model"))
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(d.candidates(), func(c candidate) bool { return c.linear })
	if at < 0 {
		t.Fatal("no linear model is tried")
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(d.config(d.candidates()[at], part{})), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	for _, command := range []string{"train", "evaluate"} {
		var stderr bytes.Buffer
		if stdout.Reset(); Run(t.Context(), []string{command, "--config", path}, &stdout, &stderr) != 0 {
			t.Fatalf("%s: %s", command, stderr.String())
		}
	}
	m := regexp.MustCompile(`rmse=(\S+)`).FindStringSubmatch(stdout.String())
	if m == nil {
		t.Fatalf("no rmse: %s", stdout.String())
	}
	if rmse, err := strconv.ParseFloat(m[1], 64); err != nil || rmse > 9000 {
		t.Errorf("rmse %v of a plane, expected less than a twentieth of the label's deviation of 180,000", m[1])
	}
}

// TestInitRareClasses: if a class is rare, the config proposes balanced class weights, which can be turned on.
func TestInitRareClasses(t *testing.T) {
	table := tableFile(t, "a,b,y", 200, func(r int) string {
		return fmt.Sprintf("%d,%d,%s", r*7%200, r*11%40, []string{"common", "rare"}[max(0, 1-r%20)])
	})
	_, config := initOf(t, table, "--label", "y", "--no-search")
	const proposal = "# class_weights: balanced"
	if !strings.Contains(config, proposal) {
		t.Fatalf("expected %q in\n%s", proposal, config)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(strings.Replace(config, proposal, proposal[2:], 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{"train", "class_weights=\"[0.524"}, {"evaluate", ""}} {
		command, want := c[0], c[1]
		var stdout, stderr bytes.Buffer
		if code := Run(t.Context(), []string{command, "--config", path, "--set", "model.params.n_trees=5"}, &stdout, &stderr); code != 0 || !strings.Contains(stderr.String(), want) {
			t.Fatalf("%s: exit code %d, expected %q: %s", command, code, want, stderr.String())
		}
	}
}

// TestInitTexts: a table of messages gives a linear model of their words; with numbers too, a combined one. Both train, and serving gives the
// predictions of training.
func TestInitTexts(t *testing.T) {
	words := []string{"meet me at home", "win a free prize", "call you later then", "free cash now claim"}
	for _, c := range []struct{ header, numbers, want string }{{"text,kind", "", "name: linear_classifier"}, {"text,x,kind", "%d,", "name: dnn_linear_combined_classifier"}} {
		table := tableFile(t, c.header, 200, func(r int) string {
			number := ""
			if c.numbers != "" {
				number = fmt.Sprintf(c.numbers, r*7%50)
			}
			return fmt.Sprintf(`"%s w%d",%s%s`, words[r*r*r%7%4], r, number, []string{"ham", "spam"}[r*r*r%7%4%2])
		})
		p, err := tabular.Read(t.Context(), table, tabular.Options{Label: "kind"})
		if err != nil {
			t.Fatal(err)
		}
		d, err := newDraft(p, filepath.Join(t.TempDir(), "model"))
		if err != nil {
			t.Fatal(err)
		}
		if at := slices.IndexFunc(d.candidates(), func(c candidate) bool { return c.wide }); at < 0 {
			t.Fatal("no model of words is tried")
		}
		at := slices.IndexFunc(d.candidates(), func(c candidate) bool { return c.textless })
		if (at >= 0) != (c.numbers != "") || at >= 0 && strings.Contains(d.config(d.candidates()[at], part{}), "type: words") {
			t.Errorf("%s: candidate %d has no texts", c.header, at)
		}
		config := d.config(d.wide(), part{})
		if !strings.Contains(config, c.want) || !strings.Contains(config, "type: words, key: text, punctuation: words, adapt: true") {
			t.Fatalf("expected %s: got\n%s", c.want, config)
		}
		path := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, command := range []string{"train", "evaluate"} {
			var stdout, stderr bytes.Buffer
			if code := Run(t.Context(), []string{command, "--config", path}, &stdout, &stderr); code != 0 {
				t.Fatalf("%s: exit code %d: %s", command, code, stderr.String())
			}
			if m := regexp.MustCompile(`accuracy=(\S+)`).FindStringSubmatch(stdout.String()); command == "evaluate" && (m == nil || m[1] != "1") {
				t.Errorf("%s: expected accuracy 1: %s", c.want, stdout.String())
			}
		}
	}
}

// imageFolder writes images of two classes, dark and bright, into folders.
func imageFolder(t *testing.T, dir string, perClass int, grey bool, size func(i int) int) {
	t.Helper()
	for k, class := range []string{"bright", "dark"} {
		if err := os.MkdirAll(filepath.Join(dir, class), 0o700); err != nil {
			t.Fatal(err)
		}
		for i := range perClass {
			box := image.Rect(0, 0, size(i), size(i))
			var m draw.Image = image.NewRGBA(box)
			if grey {
				m = image.NewGray(box)
			}
			draw.Draw(m, box, image.NewUniform(color.Gray{uint8(200 - 150*k + i%30)}), image.Point{}, draw.Src)
			var b bytes.Buffer
			if err := png.Encode(&b, m); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, class, fmt.Sprintf("%d.png", i)), b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestInitImages: folders of images give a config that trains at once and tells the classes apart.
func TestInitImages(t *testing.T) {
	for _, c := range []struct {
		name  string
		grey  bool
		test  bool
		size  func(int) int
		wants []string
	}{
		{"grey, of one size", true, false, func(int) int { return 12 }, []string{"channels: 1", "part: eval", "flip: false", "filters: [32, 64]"}},
		{"coloured, of many sizes, with a folder for tests", false, true, func(i int) int { return 8 + i%5 }, []string{"image_size: [10, 10]", "flip: true", "/test"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			if c.test {
				imageFolder(t, filepath.Join(dir, "train"), 30, c.grey, c.size)
				imageFolder(t, filepath.Join(dir, "test"), 5, c.grey, c.size)
			} else {
				imageFolder(t, dir, 30, c.grey, c.size)
			}
			_, config := initOf(t, dir)
			for _, want := range c.wants {
				if !strings.Contains(config, want) {
					t.Errorf("expected %q in\n%s", want, config)
				}
			}
			path := trainsWell(t, config)
			predictsNamed(t, path, dir)
		})
	}
}

// trainsWell trains a config for 60 steps to an accuracy of 1, and returns the config's path.
func trainsWell(t *testing.T, config string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := Run(t.Context(), []string{"train", "--config", path, "--set", "train.max_steps=60", "--json"}, &stdout, &stderr); code != 0 {
		t.Fatalf("train: exit code %d: %s", code, stderr.String())
	}
	if !strings.Contains(stdout.String(), `"accuracy":1,`) {
		t.Errorf("expected accuracy 1: %s", stdout.String())
	}
	return path
}

// predictsNamed predicts the images of a folder, and a single one; the file names come first.
func predictsNamed(t *testing.T, config, dir string) {
	t.Helper()
	held := filepath.Join(dir, "dark")
	if _, err := os.Stat(held); err != nil {
		held = filepath.Join(dir, "train", "dark")
	}
	for input, want := range map[string]string{held: `{"file":"1.png",`, filepath.Join(held, "4.png"): `{"file":"4.png",`} {
		var stdout, stderr bytes.Buffer
		if code := Run(t.Context(), []string{"predict", "--config", config, "--input", input}, &stdout, &stderr); code != 0 {
			t.Errorf("predict %s: exit code %d: %s", input, code, stderr.String())
		}
		if !strings.Contains(stdout.String(), want) {
			t.Errorf("predict %s: expected %s in %s", input, want, stdout.String())
		}
	}
	var stdout bytes.Buffer
	if code := Run(t.Context(), []string{"predict", "--config", config, "--input", filepath.Join(held, "4.png"), "--set", "predict.columns=[file,image]"}, &stdout, &stdout); code != 0 || !strings.Contains(stdout.String(), `{"file":"4.png","image":[[`) {
		t.Errorf("with the image: exit code %d: %.200s", code, stdout.String())
	}
	t.Setenv(asBinary, "1") // folds are processes
	predictions := filepath.Join(t.TempDir(), "predictions.csv")
	var stderr bytes.Buffer
	if code := Run(t.Context(), []string{"crossval", "--config", config, "--folds", "2", "--dir", t.TempDir(), "--predictions", predictions, "--set", "train.max_steps=2"}, io.Discard, &stderr); code != 0 {
		t.Fatalf("crossval: exit code %d: %s", code, stderr.String())
	}
	text, err := os.ReadFile(predictions)
	if err != nil || !bytes.HasPrefix(text, []byte("row,fold,label,file,")) || !bytes.Contains(text, []byte("0,0,bright,bright/0.png,")) {
		t.Errorf("crossval: got %.200s, %v", text, err)
	}
}

// TestInitImagesRefused: folders that are no data set of images are refused, and the error says what is missing.
func TestInitImagesRefused(t *testing.T) {
	one, few := t.TempDir(), t.TempDir()
	if err := os.Mkdir(filepath.Join(one, "cats"), 0o700); err != nil {
		t.Fatal(err)
	}
	imageFolder(t, few, 3, true, func(int) int { return 4 })
	for dir, want := range map[string]string{t.TempDir(): "no folders", one: "has one folder, cats", few: "has 6 images"} {
		var stdout, stderr bytes.Buffer
		if code := Run(t.Context(), []string{"init", dir, "--out", filepath.Join(t.TempDir(), "c.yaml")}, &stdout, &stderr); code == 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("exit code %d, got %s, expected %q", code, stderr.String(), want)
		}
	}
}

// TestInitParts: a folder or a glob of files is one table; the config reads all files, and the model is named after the folder.
func TestInitParts(t *testing.T) {
	t.Chdir(t.TempDir())
	for i := range 3 {
		dir := fmt.Sprintf("clicks/day=%d", i)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		rows := "a,y\n"
		for r := range 20 {
			rows += fmt.Sprintf("%d,%s\n", r, []string{"low", "high"}[r/10])
		}
		if err := os.WriteFile(dir+"/part.csv", []byte(rows), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"clicks", "clicks/**/*.csv", "clicks/day=*"} {
		for _, args := range [][]string{{"init", path, "--label", "y", "--no-search", "--force"}, {"train", "--config", "config.yaml", "--set", "model.params.n_trees=2"}, {"data", "describe", path}} {
			var out, errs bytes.Buffer
			if code := Run(t.Context(), args, &out, &errs); code != 0 {
				t.Fatalf("%s of %s: %s", args[0], path, errs.String())
			}
			if args[0] != "train" && !strings.Contains(out.String(), path+": 60 rows") {
				t.Errorf("%s of %s: %s", args[0], path, out.String())
			}
		}
		if _, err := os.Stat("runs/clicks/export/final"); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if err := os.RemoveAll("runs"); err != nil {
			t.Fatal(err)
		}
	}
}
