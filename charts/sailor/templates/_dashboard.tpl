{{/*
Grafana's dashboards, made from the descriptions in files/dashboards. A description lists rows of panels. Panels are placed from left to
right, in a grid of 24 columns, and a panel that does not fit begins a new line.
*/}}

{{- define "sailor.dashboard.source" -}}
{{ dict "type" "prometheus" "uid" "${datasource}" | toJson }}
{{- end }}

{{/* A query of a panel: (list query index-of-query type-of-panel) */}}
{{- define "sailor.dashboard.target" -}}
{{- $query := index . 0 }}
{{- $target := dict "refId" (substr (index . 1) (add1 (index . 1) | int) "ABCDEFGHIJ") "expr" $query.expr "legendFormat" ($query.legend | default "__auto")
      "datasource" (include "sailor.dashboard.source" . | fromJson) "editorMode" "code" }}
{{- if eq (index . 2) "table" }}
{{- $target = merge $target (dict "instant" true "range" false "format" "table") }}
{{- else if has (index . 2) (list "stat" "bargauge") }}
{{- $target = merge $target (dict "instant" true "range" false) }}
{{- else }}
{{- $target = merge $target (dict "instant" false "range" true) }}
{{- end }}
{{- toJson $target }}
{{- end }}

{{/* How a type of panel draws its values. */}}
{{- define "sailor.dashboard.options" -}}
{{- $last := dict "calcs" (list "lastNotNull") "fields" "" "values" false }}
{{- if eq .type "timeseries" }}
{{- dict "legend" (dict "displayMode" "list" "placement" "bottom" "showLegend" true) "tooltip" (dict "mode" "multi" "sort" "desc") | toJson }}
{{- else if eq .type "stat" }}
{{- dict "reduceOptions" $last "textMode" (.show | default "value") "colorMode" "none" "graphMode" "none" "justifyMode" "auto" | toJson }}
{{- else if eq .type "bargauge" }}
{{- dict "reduceOptions" $last "orientation" "horizontal" "displayMode" "basic" "showUnfilled" true | toJson }}
{{- else }}
{{- dict "showHeader" true | toJson }}
{{- end }}
{{- end }}

{{/* The units and the style of a panel. The columns of a table have their own units. */}}
{{- define "sailor.dashboard.fields" -}}
{{- $defaults := dict "unit" (.unit | default "none") }}
{{- if eq .type "timeseries" }}
{{- $_ := set $defaults "min" 0 }}
{{- $_ := set $defaults "custom" (dict "drawStyle" "line" "lineInterpolation" "linear" "lineWidth" 1 "showPoints" "never" "spanNulls" false
      "fillOpacity" (ternary 60 0 (.stack | default false)) "stacking" (dict "mode" (ternary "normal" "none" (.stack | default false)) "group" "A")) }}
{{- end }}
{{- $overrides := list }}
{{- if eq .type "table" }}
{{- range .queries }}
{{- if .unit }}
{{- $overrides = append $overrides (dict "matcher" (dict "id" "byName" "options" .legend) "properties" (list (dict "id" "unit" "value" .unit))) }}
{{- end }}
{{- end }}
{{- end }}
{{- dict "defaults" $defaults "overrides" $overrides | toJson }}
{{- end }}

{{/* Joins the queries of a table by job, and names the columns after the queries. */}}
{{- define "sailor.dashboard.transformations" -}}
{{- $names := dict "job_namespace" "Namespace" "job_name" "Job" "state" "State" }}
{{- range $index, $query := .queries }}
{{- $_ := set $names (printf "Value #%s" (substr $index (add1 $index | int) "ABCDEFGHIJ")) $query.legend }}
{{- end }}
{{- list (dict "id" "merge" "options" dict)
      (dict "id" "organize" "options" (dict "excludeByName" (dict "Time" true "Value #A" true) "renameByName" $names)) | toJson }}
{{- end }}

{{/* A panel: (list panel id position) */}}
{{- define "sailor.dashboard.panel" -}}
{{- $panel := index . 0 }}
{{- $targets := list }}
{{- range $index, $query := $panel.queries }}
{{- $targets = append $targets (include "sailor.dashboard.target" (list $query $index $panel.type) | fromJson) }}
{{- end }}
{{- $result := dict "id" (index . 1) "type" $panel.type "title" $panel.title "description" ($panel.description | default "") "gridPos" (index . 2)
      "datasource" (include "sailor.dashboard.source" . | fromJson) "targets" $targets
      "fieldConfig" (include "sailor.dashboard.fields" $panel | fromJson) "options" (include "sailor.dashboard.options" $panel | fromJson) }}
{{- if eq $panel.type "table" }}
{{- $_ := set $result "transformations" (include "sailor.dashboard.transformations" $panel | fromJsonArray) }}
{{- end }}
{{- toJson $result }}
{{- end }}

{{/* All panels of the rows, with their positions. */}}
{{- define "sailor.dashboard.panels" -}}
{{- $panels := list }}
{{- $y := 0 }}
{{- range $row := .rows }}
{{- $height := int ($row.height | default 8) }}
{{- $panels = append $panels (dict "id" (len $panels | add1) "type" "row" "title" $row.title "collapsed" false "panels" list
      "gridPos" (dict "x" 0 "y" $y "w" 24 "h" 1)) }}
{{- $y = add1 $y }}
{{- $x := 0 }}
{{- range $panel := $row.panels }}
{{- if gt (int (add $x $panel.width)) 24 }}
{{- $x = 0 }}
{{- $y = add $y $height }}
{{- end }}
{{- $position := dict "x" $x "y" $y "w" (int $panel.width) "h" $height }}
{{- $panels = append $panels (include "sailor.dashboard.panel" (list $panel (len $panels | add1) $position) | fromJson) }}
{{- $x = add $x $panel.width }}
{{- end }}
{{- $y = add $y $height }}
{{- end }}
{{- toJson $panels }}
{{- end }}

{{- define "sailor.dashboard.variables" -}}
{{- $variables := list (dict "name" "datasource" "label" "Data source" "type" "datasource" "query" "prometheus") }}
{{- range .variables }}
{{- $variable := dict "name" .name "label" .label "type" "query" "datasource" (include "sailor.dashboard.source" $ | fromJson)
      "definition" .query "query" (dict "query" .query "refId" "PrometheusVariableQueryEditor-VariableQuery") "refresh" 2 "sort" 1 }}
{{- if .all }}
{{- $variable = merge $variable (dict "includeAll" true "multi" true "allValue" ".*" "current" (dict "text" (list "All") "value" (list "$__all"))) }}
{{- end }}
{{- $variables = append $variables $variable }}
{{- end }}
{{- toJson $variables }}
{{- end }}

{{/* The values of an annotation's query are the times to mark, in seconds. Grafana expects milliseconds. */}}
{{- define "sailor.dashboard.annotations" -}}
{{- $annotations := list }}
{{- range .annotations }}
{{- $annotations = append $annotations (dict "name" .name "expr" (printf "%s * 1000" .time) "useValueForTime" true "enable" true
      "iconColor" "orange" "titleFormat" .name
      "datasource" (include "sailor.dashboard.source" $ | fromJson)) }}
{{- end }}
{{- toJson $annotations }}
{{- end }}

{{/* A dashboard as JSON, from its description. */}}
{{- define "sailor.dashboard" -}}
{{- dict "uid" .uid "title" .title "description" .description "tags" (list "sailor") "editable" true "graphTooltip" 1 "schemaVersion" 39
      "refresh" "30s" "time" (dict "from" "now-6h" "to" "now") "timezone" "browser" "links" list
      "templating" (dict "list" (include "sailor.dashboard.variables" . | fromJsonArray))
      "annotations" (dict "list" (include "sailor.dashboard.annotations" . | fromJsonArray))
      "panels" (include "sailor.dashboard.panels" . | fromJsonArray) | toPrettyJson }}
{{- end }}
