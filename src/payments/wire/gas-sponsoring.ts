import { z } from 'zod';
import { integerText, type Extension } from '../chains/core/wire.ts';

/** The extension's key (specs/extensions/eip2612_gas_sponsoring.md). */
export const gasSponsoring = 'eip2612GasSponsoring';

const address = z.string().regex(/^0x[a-fA-F0-9]{40}$/);
/** A permit by EIP-2612, which lets Permit2 take tokens. The settlement hands it in, so that the buyer pays no gas. */
const permit = z.object({
  from: address,
  asset: address,
  spender: address,
  amount: integerText,
  nonce: integerText,
  deadline: integerText,
  signature: z.string().regex(/^0x[a-fA-F0-9]{130}$/),
  version: z.string().regex(/^\d{1,4}(?:\.\d{1,4}){0,3}$/),
});

export type GasPermit = z.infer<typeof permit>;

const properties = Object.fromEntries(Object.keys(permit.shape).map((name) => [name, { type: 'string' }]));

/** The same in every challenge; buyers replace `info`. The header has little room, so the schema names types alone. */
export const gasSponsoringDeclaration: Extension = {
  info: { description: 'Sign an EIP-2612 permit for Permit2; this service pays the gas.', version: '1' },
  schema: { type: 'object', properties, required: Object.keys(properties) },
};

const proofExtensions = z.object({ [gasSponsoring]: z.object({ info: permit }) });

/** Reads the permit of a proof; null for none, and for one in another form. */
export const readGasPermit = (extensions: unknown): GasPermit | null =>
  proofExtensions.safeParse(extensions).data?.[gasSponsoring].info ?? null;
