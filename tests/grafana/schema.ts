// SPDX-License-Identifier: Apache-2.0
// What a dashboard's JSON must be, out of Grafana's own types (@grafana/schema), made as strict as they allow: a panel's
// type decides its options and field options, and nothing may be there that they do not have.
//
// Grafana's package has no types for the queries of its Prometheus data source, for transformations and for links on
// fields: those are written out here, as far as our dashboards use them, after the packages grafana-prometheus and
// grafana-data of Grafana 10 to 13.

import type {
  AnnotationQuery, Dashboard, DashboardLink, DataSourceRef, FieldConfig, GridPos, MatcherConfig, Panel, RowPanel, TimePickerConfig,
  VariableModel,
} from '@grafana/schema';
import type * as BarGauge from '@grafana/schema/dist/esm/raw/composable/bargauge/panelcfg/x/BarGaugePanelCfg_types.gen';
import type * as Heatmap from '@grafana/schema/dist/esm/raw/composable/heatmap/panelcfg/x/HeatmapPanelCfg_types.gen';
import type * as Stat from '@grafana/schema/dist/esm/raw/composable/stat/panelcfg/x/StatPanelCfg_types.gen';
import type * as Timeline from '@grafana/schema/dist/esm/raw/composable/statetimeline/panelcfg/x/StateTimelinePanelCfg_types.gen';
import type * as Table from '@grafana/schema/dist/esm/raw/composable/table/panelcfg/x/TablePanelCfg_types.gen';
import type * as TimeSeries from '@grafana/schema/dist/esm/raw/composable/timeseries/panelcfg/x/TimeSeriesPanelCfg_types.gen';

// JSON has a text where the types have a member of an enumeration.
type Plain<T> =
  T extends string ? `${T}`
  : T extends number | boolean | null | undefined ? T
  : T extends Array<infer Item> ? Array<Plain<Item>>
  : T extends object ? { [Key in keyof T]: Plain<T[Key]> }
  : T;

type Unit =
  | 'none' | 'short' | 'percentunit' | 'bytes' | 'binBps' | 's' | 'dtdurations' | 'dateTimeFromNow' | 'celsius' | 'hertz' | 'watt'
  | 'volt' | 'amp' | 'cps' | `suffix:${string}`;

type Color = 'green' | 'yellow' | 'orange' | 'red' | 'dark-red' | 'blue' | 'purple' | 'text' | 'transparent';

interface PrometheusQuery {
  datasource: Plain<DataSourceRef>;
  editorMode: 'code' | 'builder';
  exemplar: boolean;
  expr: string;
  format: 'time_series' | 'table' | 'heatmap';
  instant: boolean;
  legendFormat: string;
  range: boolean;
  refId: string;
}

type Transformation =
  | { id: 'merge'; options: Record<string, never> }
  | {
      id: 'organize';
      options: {
        excludeByName: Record<string, boolean>;
        includeByName: Record<string, boolean>;
        indexByName: Record<string, number>;
        renameByName: Record<string, string>;
      };
    }
  | { id: 'groupingToMatrix'; options: { columnField: string; rowField: string; valueField: string; emptyValue: 'empty' | 'null' | 'zero' } };

interface DataLink {
  title: string;
  url: string;
  targetBlank: boolean;
}

type Field<Custom> = Omit<Plain<FieldConfig>, 'custom' | 'links' | 'unit' | 'thresholds'> & {
  // What the types leave open and ours all have.
  unit: Unit;
  noValue: string;
  thresholds: { mode: 'absolute'; steps: Array<{ color: Color; value: number | null }> };
  links?: DataLink[];
  custom?: Custom;
};

// {id: 'unit', value: Unit} | {id: 'custom.width', value: number} | ...
type Property<Custom> =
  | { [Key in keyof Field<Custom> & string]-?: { id: Key; value: Field<Custom>[Key] } }[keyof Field<Custom> & string]
  | { [Key in keyof Custom & string]-?: { id: `custom.${Key}`; value: Custom[Key] } }[keyof Custom & string];

interface Override<Custom> {
  matcher: Omit<Plain<MatcherConfig<string>>, 'id'> & { id: 'byName' | 'byRegexp'; options: string };
  properties: Array<Property<Custom>>;
}

type PanelOf<Type extends string, Options, Custom> = Omit<
  Plain<Panel>, 'type' | 'options' | 'fieldConfig' | 'targets' | 'transformations' | 'title' | 'description' | 'gridPos' | 'id' | 'links'
> & {
  type: Type;
  id: number;
  title: string;
  description: string;
  gridPos: GridPos;
  links: Array<Plain<DashboardLink>>;
  options: Plain<Options>;
  fieldConfig: { defaults: Field<Plain<Custom>>; overrides: Array<Override<Plain<Custom>>> };
  targets: PrometheusQuery[];
  transformations: Transformation[];
};

export type AnyPanel =
  | PanelOf<'stat', Stat.Options, Record<string, never>>
  | PanelOf<'bargauge', BarGauge.Options, Record<string, never>>
  | PanelOf<'timeseries', TimeSeries.Options, TimeSeries.FieldConfig>
  | PanelOf<'state-timeline', Timeline.Options, Timeline.FieldConfig>
  | PanelOf<'heatmap', Heatmap.Options, Heatmap.FieldConfig>
  | PanelOf<'table', Table.Options, Table.FieldConfig>
  | (Omit<Plain<RowPanel>, 'panels'> & { type: 'row'; panels: never[] });

// Queries of annotations are at the root, where each Grafana finds them.
type AnyAnnotation =
  | (Plain<Omit<AnnotationQuery, 'target' | 'datasource'>> & { builtIn: 1; datasource: Plain<DataSourceRef> })
  | (Plain<Omit<AnnotationQuery, 'target' | 'builtIn' | 'datasource'>> & {
      builtIn?: never;
      datasource: Plain<DataSourceRef>;
      expr: string;
      step: string;
      titleFormat: string;
      textFormat: string;
      tagKeys: string;
      useValueForTime: boolean;
    });

// `definition` is Grafana's own copy of a query for its list of variables; the types do not have it.
type AnyVariable = Plain<VariableModel> & { definition?: string };

export type JetmemDashboard = Omit<Plain<Dashboard>, 'panels' | 'templating' | 'annotations' | 'timepicker'> & {
  panels: AnyPanel[];
  templating: { list: AnyVariable[] };
  annotations: { list: AnyAnnotation[] };
  timepicker: Partial<Plain<TimePickerConfig>>;
};
