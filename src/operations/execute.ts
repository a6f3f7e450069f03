import type { Answer } from './answer.ts';
import type { Call, Services } from './call.ts';
import type { Operation } from './definition.ts';
import { countCall } from './paid-call.ts';
import { hasProof } from '../payments/sale/gate.ts';
import { readByProof } from './read-by-proof.ts';
import { isReadByProof } from './sale-rules.ts';
import { sellAnswer, takeCredit } from './sell-answer.ts';
import { sellFromBalance } from './sell-from-balance.ts';
import { sellCall } from './sell-call.ts';
import { validate } from './validate.ts';
import { admit, runPrepaid } from './prepaid.ts';

/**
 * Runs an operation for every transport: checks the caller and the input, takes the payment, works, answers. Throws
 * refusals as AppError. A missing x402 payment is an answer, because it carries terms.
 */
export const execute = (
  operation: Operation,
  rawInput: unknown,
  call: Call,
  services: Services,
): Promise<Answer> => {
  const perform = (): Promise<Answer> => run(operation, rawInput, call, services);
  return services.observeOperation?.(operation, call, perform) ?? perform();
};

const run = async (
  operation: Operation,
  rawInput: unknown,
  call: Call,
  services: Services,
): Promise<Answer> => {
  const { sale } = operation;
  switch (sale.kind) {
    case 'free': {
      const { caller, proofs } = call;
      if (caller === null && hasProof(proofs) && isReadByProof(sale, services))
        return readByProof({ operation, sale, rawInput }, { ...call, caller, proofs }, services);
      const account = await admit(call, services);
      return sale.handle(validate(operation, rawInput, call.transport), account, services);
    }
    case 'open':
      await countCall({ name: sale.countedWith }, call, services);
      return sale.handle(validate(operation, rawInput, call.transport), call, services);
    case 'prepaid': {
      const account = await admit(call, services);
      const input = validate(operation, rawInput, call.transport);
      return runPrepaid({ operation, prepaid: sale, input }, account, services);
    }
    case 'answer':
      return sellAnswer({ operation, sale, rawInput }, call, services);
    case 'balanceAnswer':
      return sellFromBalance({ operation, sale, rawInput }, call, services);
    case 'credit':
    case 'signIn':
      return takeCredit({ operation, sale, rawInput }, call, services);
    case 'perCall':
      return sellCall({ operation, sale, rawInput }, call, services);
  }
};
