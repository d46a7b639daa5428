{{/* The name that all objects of a release begin with: the release, and the chart unless the release already names it. A Service
     wants a letter first and no dots, and its name is the longest; a long name is cut, and stays one of a kind. */}}
{{- define "pilotage.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $full := printf "%s-%s" .Release.Name $name -}}
{{- if .Values.fullnameOverride -}}
{{- $full = .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- $full = .Release.Name -}}
{{- end -}}
{{- $full = $full | replace "." "-" -}}
{{- if regexMatch "^[0-9]" $full }}{{ $full = printf "r%s" $full }}{{ end -}}
{{- if gt (len $full) 40 -}}
{{- $full = printf "%s-%s" ($full | trunc 31 | trimSuffix "-") (sha256sum $full | trunc 8) -}}
{{- end -}}
{{- $full -}}
{{- end -}}

{{/* The name of a cluster-scoped object: the namespace follows, so that one release name may be used in several. */}}
{{- define "pilotage.clusterName" -}}
{{- printf "%s-%s.%s" (include "pilotage.fullname" .root) .name .root.Release.Namespace -}}
{{- end -}}

{{/* What selects the pods of a component. */}}
{{- define "pilotage.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* The same as one line, for a command line. */}}
{{- define "pilotage.selectorText" -}}
{{- include "pilotage.selector" . | replace ": " "=" | replace "\n" "," -}}
{{- end -}}

{{/* The labels of every object; the component is whose object it is. */}}
{{- define "pilotage.labels" -}}
{{ include "pilotage.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: pilotage
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The service accounts, whoever creates them. */}}
{{- define "pilotage.scheduler.serviceAccountName" -}}
{{- default (printf "%s-scheduler" (include "pilotage.fullname" .)) .Values.scheduler.serviceAccount.name -}}
{{- end -}}

{{- define "pilotage.operator.serviceAccountName" -}}
{{- default (printf "%s-operator" (include "pilotage.fullname" .)) .Values.operator.serviceAccount.name -}}
{{- end -}}

{{/* The ConfigMap that the operator writes and the scheduler follows; the chart never renders it. */}}
{{- define "pilotage.configMapName" -}}
{{- printf "%s-config" (include "pilotage.fullname" .) -}}
{{- end -}}

{{/* The profile of the values, and what pods write as their schedulerName. */}}
{{- define "pilotage.schedulerName" -}}
{{- default (include "pilotage.fullname" .) .Values.scheduler.name -}}
{{- end -}}
