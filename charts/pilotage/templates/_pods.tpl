{{/* The number of the scheduler's replicas; at most one without leader election. The value may be unset. */}}
{{- define "pilotage.scheduler.replicas" -}}
{{- $count := .Values.scheduler.replicaCount -}}
{{- if kindIs "invalid" $count -}}
{{- .Values.scheduler.leaderElect | ternary 2 1 -}}
{{- else -}}
{{- if and (gt (int $count) 1) (not .Values.scheduler.leaderElect) -}}
{{- fail (printf "\nscheduler.replicaCount is %d and scheduler.leaderElect is false: all replicas would schedule the same pods.\nSet scheduler.leaderElect=true, or scheduler.replicaCount=1." (int $count)) -}}
{{- end -}}
{{- int $count -}}
{{- end -}}
{{- end -}}

{{/* The common fields of both components' pods. */}}
{{- define "pilotage.pod" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .root.Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
terminationGracePeriodSeconds: {{ .values.terminationGracePeriodSeconds }}
{{- with default .fallback.nodeSelector .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with default .fallback.affinity .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with default .fallback.tolerations .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The common fields of both components' containers, up to their arguments. */}}
{{- define "pilotage.container" -}}
name: {{ .component }}
image: {{ include "pilotage.image" (dict "root" .root "component" .component "image" .values.image) | quote }}
imagePullPolicy: {{ include "pilotage.pullPolicy" (dict "root" .root "image" .values.image) }}
{{- with .root.Values.containerSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The environment of a pod: its identity, and variables of the values, which take precedence. */}}
{{- define "pilotage.env" -}}
{{- $given := list -}}
{{- range .extra }}{{ $given = append $given .name }}{{ end -}}
{{- range $name, $field := dict "POD_NAME" "metadata.name" "POD_NAMESPACE" "metadata.namespace" }}
{{- if not (has $name $given) }}
- name: {{ $name }}
  valueFrom:
    fieldRef:
      fieldPath: {{ $field }}
{{- end }}
{{- end }}
{{- with .extra }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Ignores the entry point of scheduler-plugins' image, which values for its chart name. */}}
{{- define "pilotage.scheduler.command" -}}
{{- if not (deepEqual .Values.scheduler.command (list "/bin/kube-scheduler")) -}}
{{- with .Values.scheduler.command }}
{{- toYaml . }}
{{- end }}
{{- end -}}
{{- end -}}
