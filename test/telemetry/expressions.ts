import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/** A question to Prometheus that an operator's file asks. */
export interface Expression {
  /** The panel or the rule. */
  from: string;
  text: string;
}

interface Dashboard {
  panels: { title: string; targets?: { expr: string }[] }[];
}
interface Rules {
  groups: { rules: { alert: string; expr: string }[] }[];
}

/** The expressions of the dashboard. Grafana's own interval is 30 s here. */
export const dashboardExpressions = (): Expression[] => {
  const { panels } = JSON.parse(readFileSync('deploy/grafana/causeway.json', 'utf8')) as Dashboard;
  return panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ from: title, text: expr.replaceAll('$__rate_interval', '30s') })),
  );
};

/** The expressions of the alert rules. */
export const ruleExpressions = (): Expression[] => {
  const { groups } = parse(readFileSync('deploy/prometheus/alerts.yml', 'utf8')) as Rules;
  return groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ from: alert, text: expr })));
};

/** The series that an expression reads: names with an underscore that are no label and no function. */
export const seriesOf = ({ text }: Expression): string[] => {
  const bare = text.replaceAll(/\{[^}]*\}|\b(?:by|without)\s*\([^)]*\)|\[[^\]]*\]/g, ' ');
  return [...bare.matchAll(/\b[a-z]\w*_\w+\b(?!\s*\()/g)].map(([name]) => name);
};

/** The parts of a rule that are compared with a bound: a healthy gateway answers these, and not the rule. */
export const comparedIn = ({ text }: Expression): string[] =>
  text.split(/\bor\b/).map((part) => part.replace(/\s*(?:==|[<>])\s*[\d.e]+\s*$/, ''));
