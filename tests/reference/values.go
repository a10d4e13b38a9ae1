package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Values returns the table of the chart's values: their names, defaults and comments in values.yaml.
func Values(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "charts", "sailor", "values.yaml"))
	if err != nil {
		return "", err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return "", err
	}
	rows := []string{"| value | default | meaning |", "|---|---|---|"}
	if err := addValues(document.Content[0], "", &rows); err != nil {
		return "", err
	}
	return strings.Join(rows, "\n"), nil
}

// addValues adds a row for each value below a mapping, and one for each group of values that has a comment.
func addValues(mapping *yaml.Node, prefix string, rows *[]string) error {
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		name := prefix + key.Value
		isGroup := value.Kind == yaml.MappingNode && value.Style&yaml.FlowStyle == 0 && len(value.Content) > 0
		meaning := meaningOf(key, value)
		if isGroup {
			if meaning != "" {
				*rows = append(*rows, fmt.Sprintf("| **`%s`** | | %s |", name, meaning))
			}
			if err := addValues(value, name+".", rows); err != nil {
				return err
			}
			continue
		}
		value.HeadComment, value.LineComment, value.FootComment = "", "", ""
		text, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		row := fmt.Sprintf("| `%s` | `%s` | %s", name, strings.TrimSpace(string(text)), meaning)
		*rows = append(*rows, strings.TrimSpace(row)+" |")
	}
	return nil
}

// meaningOf returns the comments above and behind a value as one text. A comment that an empty line follows is a heading of what comes
// after it, and so is the first line of the file.
func meaningOf(key, value *yaml.Node) string {
	var lines []string
	paragraphs := strings.Split(key.HeadComment, "\n\n")
	for _, comment := range []string{paragraphs[len(paragraphs)-1], key.LineComment, value.LineComment} {
		for _, line := range strings.Split(comment, "\n") {
			if line = strings.TrimSpace(strings.TrimPrefix(line, "#")); line != "" {
				lines = append(lines, line)
			}
		}
	}
	return strings.ReplaceAll(strings.Join(lines, " "), "|", `\|`)
}
