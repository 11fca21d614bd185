package feature

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

const declared = `
- {type: numeric, key: age}
- {type: numeric, name: gain, key: capital_gain, default: 0, normalize: {log: true, mean: [1], std: [2]}}
- {type: bucketized, of: age, boundaries: [18, 25, 30]}
- {type: hash_bucket, key: job, buckets: 1000}
- {type: vocabulary, key: sex, vocabulary: [Female, Male], oov_buckets: 1}
- {type: identity, key: hour, buckets: 24, default: 0}
- {type: vocabulary, key: year, dtype: int64, vocabulary: ["1999", "2000"]}
- {type: crossed, name: age x job, keys: [{column: age_bucketized}, {key: job}], buckets: 5000}
- {type: weighted, of: job, weight_key: hours}
- {type: indicator, of: sex}
- {type: embedding, name: deep job, of: job, dimension: 8, combiner: sqrtn, max_norm: 2}
- {type: shared_embeddings, columns: [job, hour], dimension: 4}
- {type: identity, name: clicks, key: clicks, buckets: 9, sequence: true}
- {type: numeric, name: prices, key: prices, sequence: true, default: -1}
`

func specsOf(t testing.TB, text string) []Spec {
	t.Helper()
	var specs []Spec
	d := yaml.NewDecoder(strings.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&specs); err != nil {
		t.Fatal(err)
	}
	return specs
}

func TestDeclaredColumns(t *testing.T) {
	set, err := Build(specsOf(t, declared))
	if err != nil {
		t.Fatal(err)
	}
	columns, err := set.Columns(set.Names()...)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, c := range columns {
		got = append(got, fmt.Sprintf("%s = %v", set.Names()[i], c))
	}
	want := []string{
		"age = numeric(age)",
		"gain = numeric(capital_gain, default=[0], log, mean=[1], std=[2])",
		"age_bucketized = bucketized(numeric(age), [18 25 30])",
		"job = hash_bucket(job, 1000)",
		`sex = vocabulary(sex, ["Female" "Male"], oov_buckets=1)`,
		"hour = identity(hour, 24, default=0)",
		"year = vocabulary(year, [1999 2000])",
		"age x job = crossed([bucketized(numeric(age), [18 25 30]) job], 5000)",
		"job_weighted_by_hours = weighted(hash_bucket(job, 1000), hours)",
		`sex_indicator = indicator(vocabulary(sex, ["Female" "Male"], oov_buckets=1))`,
		"deep job = embedding(hash_bucket(job, 1000), 8, sqrtn, max_norm=2)",
		"job_shared_embedding = embedding(hash_bucket(job, 1000), 4, table=hour_job_shared_embedding)",
		"hour_shared_embedding = embedding(identity(hour, 24, default=0), 4, table=hour_job_shared_embedding)",
		"clicks = sequence(identity(clicks, 9))",
		"prices = sequence_numeric(prices, default=-1)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestColumnsOfOneFeature: columns that read the same feature differently have names that no feature is likely to have.
func TestColumnsOfOneFeature(t *testing.T) {
	set, err := Build(specsOf(t, `
- {type: numeric, key: date_month}
- {type: numeric, key: age_missing_last}
- {type: numeric, key: date, name: date month, read: month, allow_nan: true}
- {type: numeric, key: date, name: date month missing last, read: month, missing: largest}
- {type: numeric, key: date, name: date day, read: day, missing: largest}
- {type: numeric, key: date, name: date weekday, read: weekday, missing: largest}
- {type: numeric, key: age, name: age, allow_nan: true}
- {type: numeric, key: age, name: age missing last, missing: largest}
- {type: numeric, key: fee, missing: largest}
`))
	if err != nil {
		t.Fatal(err)
	}
	plan, err := New(Columns{Dense: set.list()})
	if err != nil {
		t.Fatal(err)
	}
	specs, err := plan.ExampleSpecs()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range specs {
		got = append(got, s.Key+" "+s.String())
	}
	want := []string{"age FixedLenFeature([1], float32)", "age_missing_last FixedLenFeature([1], float32)", "date FixedLenFeature([1], string, optional)",
		"date_month FixedLenFeature([1], float32)", "fee FixedLenFeature([1], float32, default [3.4028235e+38])"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDeclarationsRefused(t *testing.T) {
	for text, want := range map[string]string{
		"- {type: numerical, key: age}":                                                       `unknown type "numerical": expected one of bucketized, crossed`,
		"- {type: numeric, key: age, buckets: 3}":                                             "feature column 1 (numeric age): buckets says nothing about a column of type numeric",
		"- {type: numeric, key: age}\n- {type: numeric, key: age}":                            `feature column 2 (numeric age): name "age" is taken`,
		"- {type: embedding, of: job, dimension: 3}":                                          `unknown column "job": declared are none before it`,
		"- {type: numeric, key: age}\n- {type: indicator, of: age}":                           "expected a categorical column",
		"- {type: identity, key: a, buckets: 3}\n- {type: bucketized, of: a}":                 "expected a numeric column",
		"- {type: vocabulary, key: a, dtype: int64, vocabulary: [x]}":                         `"x" is not an integer`,
		"- {type: hash_bucket, key: a, dtype: float32, buckets: 3}":                           `got "float32"`,
		"- {type: identity, key: a, buckets: 3, default: 0.5}":                                "a whole number, got 0.5",
		"- {type: crossed, keys: [{key: a, column: b}], buckets: 3}":                          "keys, entry 1",
		"- {type: crossed, keys: [{key: a}, {column: b}], buckets: 3}":                        `unknown column "b"`,
		"- {type: shared_embeddings, dimension: 3}":                                           "columns is empty",
		"- {type: numeric, key: a, default: 1, defaults: [1]}":                                "exclude each other",
		"- {type: numeric, key: a, sequence: true, defaults: [1]}":                            "one default",
		"- {type: hash_bucket, key: a, buckets: 3}\n- {type: weighted, of: b, weight_key: w}": `unknown column "b": declared are a`,
	} {
		_, err := Build(specsOf(t, text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nerror %v, want one with %q", text, err, want)
		}
	}
}
