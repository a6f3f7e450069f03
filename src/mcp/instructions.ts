import type { Operation } from '../operations/operation.ts';
import { needsKey, type ToolGroup } from './tool-list.ts';

export interface InstructionsOptions {
  /** Those that are tools. */
  operations: readonly Operation[];
  group: ToolGroup;
  hasKey: boolean;
}

/** What a model is told about this server before it calls anything. */
export const toInstructions = ({ operations, group, hasKey }: InstructionsOptions): string => {
  const served = operations.filter((operation) => group === 'all' || operation.group === group);
  const keyless = served.filter((operation) => !needsKey(operation)).map(({ name }) => name);
  const keyed = served.filter(needsKey).map(({ name }) => name);
  return [
    keyless.length === 0 ? null : payPerCall(keyless),
    keyed.length === 0 ? null : hasKey ? prepaid(served) : keyOpens(keyed),
  ]
    .filter((line) => line !== null)
    .join('\n');
};

const payPerCall = (names: readonly string[]): string =>
  `${names.join(', ')}: paid for each call with USDC by x402, without an account. An unpaid call answers the terms; ` +
  'call again with the same arguments and the signed payment in _meta["x402/payment"].';

const prepaid = (operations: readonly Operation[]): string =>
  [
    'Generation is charged to the prepaid balance of the API key, when it succeeds.',
    ...operations.flatMap(({ tool }) => tool?.instruction ?? []),
    'Give the URL of a result to the person as it is. Send an idempotency_key to repeat a call safely.',
  ].join(' ');

const keyOpens = (names: readonly string[]): string =>
  `With an API key ("Authorization: Bearer <API_KEY>" on this server) there are also the generation tools: ` +
  `${names.join(', ')}. The operator of this service issues keys.`;
