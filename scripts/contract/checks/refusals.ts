import { expectError, expectStatus, type WantedError } from '../assertions.ts';
import type { Suite } from '../suite.ts';

export interface Refusal {
  body: unknown;
  /** The field that the refusal must name. */
  param?: string;
}

/** Posts each body and expects the same refusal for all. */
export const expectRefusals = async (
  suite: Suite,
  path: string,
  refusals: readonly Refusal[],
  wanted: WantedError,
): Promise<void> => {
  for (const { body, param } of refusals)
    expectError(await suite.call(path, { body }), { ...wanted, ...(param === undefined ? {} : { param }) });
};

/**
 * Posts each body with an unknown SKU. The server reports that if it finds nothing else wrong. Nothing is made or
 * charged.
 */
export const expectWellFormed = async (
  suite: Suite,
  path: string,
  bodies: readonly object[],
): Promise<void> => {
  for (const body of bodies) {
    const answer = await suite.call(path, { body });
    expectStatus(answer, 400, 404);
    expectError(answer, { status: [400, 404], code: 'model_not_found' });
  }
};

/** Posts the body with the key of the account without money. */
export const expectTooDear = async (suite: Suite, path: string, body: object): Promise<void> => {
  expectError(await suite.call(path, { key: suite.settings.poorKey, body }), {
    status: 402,
    code: 'insufficient_balance',
    type: 'insufficient_quota',
  });
};
