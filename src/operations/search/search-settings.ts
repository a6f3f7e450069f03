import { oneOf, toggle, wholeNumber, type VariableValues } from '../../kit/settings.ts';

export const searchVariables = {
  SEARCH_PRICING: oneOf('dynamic', 'flat')
    .default('dynamic')
    .describe('`dynamic`: $0.10, and $0.002 for each result above 20; `flat`: $0.50'),
  SEARCH_MAX_LIMIT: wholeNumber(20, 100, 100).describe('largest `limit` of a search'),
  SEARCH_CHARGE_EMPTY: toggle('true', 'false', 'false').describe(
    '`true` charges a search without a match; one over an index without profiles is always free',
  ),
  SEARCH_RATE_PER_MINUTE: wholeNumber(1, 1_000_000, 60).describe(
    'searches of one address, or of one account from its balance, in a minute',
  ),
  SEARCH_FROM_BALANCE: toggle('on', 'off', 'off').describe(
    '`on` charges a search with a key and no payment to the balance',
  ),
  SYNTHETIC_PROFILES: wholeNumber(0, 5_000_000, 20_000)
    .refine((profiles) => profiles === 0 || profiles >= 100, 'must be 0, or 100 to 5000000')
    .describe('number of [fictional profiles](operators-payments.md#fictional-profiles)'),
};

export type SearchConfig = ReturnType<typeof readSearchSettings>;

export const readSearchSettings = (
  values: VariableValues<typeof searchVariables>,
  state: {
    /** False where there is nothing to search, or no network to be paid on. */
    isOn: boolean;
    /** Whether a search may cost the operator money, at a service of somebody else. */
    costsMoney: boolean;
  },
) => ({
  ...state,
  pricing: values.SEARCH_PRICING,
  maxLimit: values.SEARCH_MAX_LIMIT,
  chargeEmpty: values.SEARCH_CHARGE_EMPTY,
  ratePerMinute: values.SEARCH_RATE_PER_MINUTE,
  fromBalance: values.SEARCH_FROM_BALANCE,
  syntheticProfiles: values.SYNTHETIC_PROFILES,
});
