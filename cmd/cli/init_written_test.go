package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestInitNamesTwice: columns have the names that init would give to columns it derives from others.
func TestInitNamesTwice(t *testing.T) {
	const names = "day,day month,day_month,day-weekday,fee,fee missing last,fee_missing_last,y"
	table := tableFile(t, names, 200, func(r int) string {
		day, fee := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, r*7%400), fmt.Sprint(r*7%23)
		if r%10 == 3 {
			fee = ""
		}
		return fmt.Sprintf("%s,%d,%d,%d,%s,%d,%d,%d", day.Format(time.DateOnly), r*3%7, r*5%11, r*9%17, fee, r*11%13, r*5%19, r*7%23*10+r%3)
	})
	_, config := initOf(t, table, "--label", "y", "--no-search")
	if !strings.Contains(config, "day month again") || !strings.Contains(config, "day weekday again") || !strings.Contains(config, "fee missing last again") {
		t.Fatalf("expected other names in\n%s", config)
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := Run(t.Context(), []string{"train", "--config", path}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
}

// TestInitOddTexts: texts in a numeric column that are not numbers count as missing, and the config says so.
func TestInitOddTexts(t *testing.T) {
	table := tableFile(t, "weight,y", 400, func(r int) string {
		if r%200 == 77 {
			return fmt.Sprintf("about %d-%d kg,%d", r, r+5, r%5)
		}
		return fmt.Sprintf("%d kg,%d", r*11%90, r%5)
	})
	_, config := initOf(t, table, "--label", "y", "--no-search")
	for _, want := range []string{`# 2 texts of weight are no numbers, for example "about 77-82 kg": they count as missing.`, "{name: weight missing last, type: numeric, key: weight, read: number, missing: largest}"} {
		if !strings.Contains(config, want) {
			t.Errorf("expected %q in\n%s", want, config)
		}
	}
}

// TestInitMonthNames: dates with month names are read, with their time of day.
func TestInitMonthNames(t *testing.T) {
	day := func(r int) time.Time {
		return time.Date(2020, 1, 1, r*5%24, 30, 0, 0, time.UTC).AddDate(0, 0, r*7%400)
	}
	for layout, want := range map[string][]string{
		"2 Jan 2006":             {"read: month, date_order: dmy", "read: weekday, date_order: dmy"},
		"02-Jan-06 15:04":        {"read: days, date_order: dmy", "read: hour, date_order: dmy"},
		"Mon, Jan 2 2006 3:04PM": {"read: day, date_order: mdy", "read: hour, date_order: mdy"},
		"Jan-2006":               {"read: year, date_order: mdy"},
	} {
		table := tableFile(t, "when,y", 200, func(r int) string { return fmt.Sprintf("%q,%d", day(r).Format(layout), r%7) })
		_, config := initOf(t, table, "--label", "y", "--no-search", "--task", "regression")
		for _, w := range want {
			if !strings.Contains(config, w) {
				t.Errorf("%s: expected %q in\n%s", layout, w, config)
			}
		}
	}
}

// TestInitConverted: values of columns and labels in several units are converted to one.
func TestInitConverted(t *testing.T) {
	table := tableFile(t, "weight,value", 200, func(r int) string {
		return fmt.Sprintf("%s,%s", []string{fmt.Sprint(r*11%90, " kg"), fmt.Sprint(r*1100%9000, " g")}[r%2], []string{fmt.Sprintf("€%d.5K", r*7%100), fmt.Sprintf("€%dM", r%9)}[r%2])
	})
	_, config := initOf(t, table, "--label", "value", "--no-search")
	for _, want := range []string{"key: weight, read: number, unit: kg", `expression: "number(col(\"value\"), \".\", \"one\")"`, "label_mean: 2"} {
		if !strings.Contains(config, want) {
			t.Errorf("expected %q in\n%s", want, config)
		}
	}
	path := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	if code := Run(t.Context(), []string{"train", "--config", path}, &stdout, &stderr); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr.String())
	}
}

// TestInitWritten: dates, numbers with units and a label with a currency are read as numbers in training, evaluation and prediction, where
// there is no label.
func TestInitWritten(t *testing.T) {
	table := tableFile(t, "when,weight,price", 200, func(r int) string {
		day := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, r*7%400)
		weight := r * 11 % 90
		return fmt.Sprintf("%s,%d kg,\"$%d,%03d.50\"", day.Format("02/01/2006"), weight, 1+int(day.Weekday())%2, weight*10)
	})
	_, config := initOf(t, table, "--label", "price", "--no-search")
	for _, want := range []string{"key: when, read: weekday, date_order: dmy", "key: weight, read: number", `expression: "number(col(\"price\"))"`} {
		if !strings.Contains(config, want) {
			t.Fatalf("expected %q in\n%s", want, config)
		}
	}
	dir := t.TempDir()
	path, rows, predictions := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "rows.csv"), filepath.Join(dir, "predictions.csv")
	for name, text := range map[string]string{path: config, rows: "when,weight\n06/01/2020,40 kg\n08/01/2020,40 kg\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, command := range [][]string{{"train", "--config", path}, {"evaluate", "--config", path}, {"predict", "--config", path, "--input", rows, "--output", predictions}} {
		var stdout, stderr bytes.Buffer
		if code := Run(t.Context(), command, &stdout, &stderr); code != 0 {
			t.Fatalf("%s: exit code %d: %s", command[0], code, stderr.String())
		}
	}
	got, err := os.ReadFile(predictions)
	if err != nil {
		t.Fatal(err)
	}
	var monday, wednesday float64
	if _, err := fmt.Sscanf(strings.ReplaceAll(string(got), "\n", " "), "predictions %f %f", &monday, &wednesday); err != nil {
		t.Fatalf("%v: %s", err, got)
	}
	if monday < 2200 || monday > 2600 || wednesday < 2200 || wednesday > 2600 {
		t.Errorf("predictions %v of a Monday and %v of a Wednesday, expected about 2400.5", monday, wednesday)
	}
}
