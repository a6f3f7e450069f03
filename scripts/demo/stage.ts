import { createTerminal } from '../terminal.ts';
import type { GatewayProcess } from '../gateway-process.ts';

/** The demo's output. */
export const terminal = createTerminal();
export const { step, say } = terminal;

/** Fails the demo with the expectation as its message. */
export const must: (claim: boolean, expectation: string) => asserts claim = (claim, expectation) => {
  if (!claim) throw new Error(`expected: ${expectation}`);
};

/** A started gateway, with the key of its first account. */
export type Gateway = GatewayProcess & { apiKey: string };
