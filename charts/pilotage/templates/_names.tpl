{{/* The prefix of all object names: the release, and the chart unless the release's name contains it. The name of a Service must
     start with a letter and contain no dots, and is the longest; a long name is cut, and stays unique. */}}
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

{{/* The selector of a component's pods. */}}
{{- define "pilotage.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* The same as one line, for a command line. */}}
{{- define "pilotage.selectorText" -}}
{{- include "pilotage.selector" . | replace ": " "=" | replace "\n" "," -}}
{{- end -}}

{{/* The labels of every object, with its component. */}}
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

{{/* The service accounts, whether the chart creates them or not. */}}
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

{{/* The profile of the values, which is also the schedulerName of pods. */}}
{{- define "pilotage.schedulerName" -}}
{{- default (include "pilotage.fullname" .) .Values.scheduler.name -}}
{{- end -}}
