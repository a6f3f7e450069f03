import { paymentEvents } from '../src/payments/sale/payment-events.ts';
import { refundEvents } from '../src/payments/refunds/refund-events.ts';

type Events = Record<string, { from: readonly string[]; to: string | null }>;

/** Draws the edges of a state machine, each with its events. Events that lead back to their state are left out. */
const drawEdges = (events: Events): string[] => {
  const edges = new Map<string, string[]>();
  for (const [name, { from, to }] of Object.entries(events))
    for (const state of from) {
      if (to === null || to === state) continue;
      const edge = `${state} --> ${to}`;
      edges.set(edge, [...(edges.get(edge) ?? []), name]);
    }
  return [...edges].map(([edge, names]) => `  ${edge} : ${names.join(', ')}`);
};

const draw = (starts: readonly string[], events: Events): string =>
  ['```mermaid', 'stateDiagram-v2', ...starts.map((start) => `  ${start}`), ...drawEdges(events), '```'].join(
    '\n',
  );

const diagrams: Record<string, string> = {
  'payment-states': draw(['[*] --> reserved', 'rejected --> reserved'], paymentEvents),
  'refund-states': draw(['[*] --> planned'], refundEvents),
};

export const documentsWithStates = ['ARCHITECTURE.md', 'docs/decisions.md'];

/** Returns the text with the diagrams of the state machines between their markers. */
export const withStateDiagrams = (document: string): string =>
  document.replace(
    /(<!-- (payment-states|refund-states) -->\n)[^]*?(<!-- end -->)/g,
    (_all, start: string, name: string, end: string) => `${start}${diagrams[name]}\n${end}`,
  );
