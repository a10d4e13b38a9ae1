// Package reference makes docs/reference.md, the reference of the custom resources, from their definitions.
package reference

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	apiextensions "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

// kinds are the files of the resources that users write, in the order of the page.
var kinds = []string{"trainingjob.yaml", "gpupool.yaml", "modelprofile.yaml"}

const preamble = `# Reference of the custom resources

This page is made from the definitions in ` + "`crds/`" + `; after a change there, ` + "`go test ./reference -update`" + ` in ` + "`tests/`" + ` makes it anew.
` + "`kubectl explain tj.spec`" + ` shows the same in a cluster. All resources belong to ` + "`sailor.dev/v1alpha1`" + `. [Examples](../crds/examples) are in the
repository, and [trainer.md](trainer.md), [elasticity.md](elasticity.md) and [planner.md](planner.md) explain what the settings do. Fields in **bold**
are required. The API server refuses a resource that breaks a rule, with the sentence that is listed here.
`

// Page returns the page for the definitions in the folder crds of the repository.
func Page(root string) (string, error) {
	var page strings.Builder
	page.WriteString(preamble)
	for _, file := range kinds {
		text, err := os.ReadFile(filepath.Join(root, "crds", file))
		if err != nil {
			return "", err
		}
		var definition apiextensions.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(text, &definition); err != nil {
			return "", fmt.Errorf("reading crds/%s: %w", file, err)
		}
		writeKind(&page, &definition)
	}
	return page.String(), nil
}

func writeKind(page *strings.Builder, definition *apiextensions.CustomResourceDefinition) {
	schema := definition.Spec.Versions[0].Schema.OpenAPIV3Schema
	fmt.Fprintf(page, "\n## %s\n\n%s\n", definition.Spec.Names.Kind, sentence(schema.Description))
	for _, part := range []string{"spec", "status"} {
		if properties, has := schema.Properties[part]; has {
			writePart(page, part, &properties)
		}
	}
}

// writePart writes a table of the part's own fields, and one for each of its objects that have fields.
func writePart(page *strings.Builder, path string, schema *apiextensions.JSONSchemaProps) {
	fmt.Fprintf(page, "\n### `%s`\n\n%s\n", path, sentence(schema.Description))
	var plain, nested []string
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		if field := schema.Properties[name]; len(field.Properties) > 0 && strings.Count(path, ".") == 0 {
			nested = append(nested, name)
		} else {
			plain = append(plain, name)
		}
	}
	if len(plain) > 0 {
		page.WriteString("\n| field | type | meaning |\n|---|---|---|\n")
		for _, name := range plain {
			writeField(page, name, schema.Properties[name], slices.Contains(schema.Required, name))
		}
	}
	writeRules(page, path, schema, len(nested) == 0)
	for _, name := range nested {
		field := schema.Properties[name]
		writePart(page, path+"."+name, &field)
	}
}

// writeField writes a row for a field, and one for each field below it.
func writeField(page *strings.Builder, path string, field apiextensions.JSONSchemaProps, required bool) {
	name := "`" + path + "`"
	if required {
		name = "**" + name + "**"
	}
	fmt.Fprintf(page, "| %s | %s | %s |\n", name, cell(typeOf(&field)), cell(sentence(field.Description)+defaultOf(&field)))
	below, prefix := &field, path+"."
	if field.Items != nil && field.Items.Schema != nil {
		below, prefix = field.Items.Schema, path+"[]."
	}
	for _, name := range slices.Sorted(maps.Keys(below.Properties)) {
		writeField(page, prefix+name, below.Properties[name], slices.Contains(below.Required, name))
	}
}

// writeRules lists what the rules of an object say, and, if deep, those of the objects below it.
func writeRules(page *strings.Builder, path string, schema *apiextensions.JSONSchemaProps, deep bool) {
	rules := rulesOf(path, schema, deep)
	if len(rules) > 0 {
		fmt.Fprintf(page, "\nRules:\n\n%s\n", strings.Join(rules, "\n"))
	}
}

func rulesOf(path string, schema *apiextensions.JSONSchemaProps, deep bool) (rules []string) {
	for _, rule := range schema.XValidations {
		rules = append(rules, fmt.Sprintf("* `%s%s`: %s", path, rule.FieldPath, sentence(rule.Message)))
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		field := schema.Properties[name]
		if len(field.Properties) == 0 || deep {
			rules = append(rules, rulesOf(path+"."+name, &field, deep)...)
		}
	}
	if schema.Items != nil && schema.Items.Schema != nil {
		rules = append(rules, rulesOf(path+"[]", schema.Items.Schema, deep)...)
	}
	return rules
}

// typeOf is the type with its limits.
func typeOf(field *apiextensions.JSONSchemaProps) string {
	switch {
	case field.XIntOrString:
		return "integer or string"
	case len(field.Enum) > 0:
		var words []string
		for _, word := range field.Enum {
			words = append(words, "`"+strings.Trim(string(word.Raw), `"`)+"`")
		}
		return strings.Join(words, ", ")
	case field.Type == "array" && field.Items != nil && field.Items.Schema != nil:
		return "list of " + typeOf(field.Items.Schema) + limits("items", field.MinItems, field.MaxItems)
	case field.Type == "object" && field.AdditionalProperties != nil && field.AdditionalProperties.Schema != nil:
		return "map to " + typeOf(field.AdditionalProperties.Schema)
	case field.Type == "string" && field.Format == "date-time":
		return "time"
	case field.Type == "integer" || field.Type == "number":
		return field.Type + range_(field)
	}
	return field.Type
}

func limits(what string, least, most *int64) string {
	switch {
	case least != nil && most != nil:
		return fmt.Sprintf(", %d to %d %s", *least, *most, what)
	case least != nil:
		return fmt.Sprintf(", at least %d", *least)
	case most != nil:
		return fmt.Sprintf(", at most %d", *most)
	}
	return ""
}

// range_ is that of a number. The largest integer of 32 bits stands for the absence of a limit.
func range_(field *apiextensions.JSONSchemaProps) string {
	least, most := field.Minimum, field.Maximum
	if most != nil && *most == math.MaxInt32 {
		most = nil
	}
	switch {
	case least != nil && most != nil:
		return ", " + number(least) + " to " + number(most)
	case least != nil:
		return ", at least " + number(least)
	case most != nil:
		return ", at most " + number(most)
	}
	return ""
}

func number(value *float64) string { return strconv.FormatFloat(*value, 'f', -1, 64) }

func defaultOf(field *apiextensions.JSONSchemaProps) string {
	if field.Default == nil {
		return ""
	}
	value := strings.Trim(string(field.Default.Raw), `"`)
	if value == "" {
		return ""
	}
	return " Default: `" + value + "`."
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text != "" && !strings.HasSuffix(text, ".") {
		text += "."
	}
	return text
}

// cell is text in a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
