import type { Answer, Call, Operation, Services } from './operation.ts';
import { admit, runPrepaid } from './prepaid-call.ts';
import { validate } from './validate.ts';
import { countCall, sellByX402, sellPerCall } from './x402-call.ts';

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
  if (operation.isOpen === true) {
    await countCall({ name: operation.countedWith }, call, services);
    return operation.handle(validate(operation, rawInput, call.transport), call, services);
  }
  if (operation.sale === null) {
    const account = await admit(call, services);
    return operation.handle(validate(operation, rawInput, call.transport), account, services);
  }
  const { prepaid, x402 } = operation.sale;
  if (prepaid === undefined) return sellByX402({ operation, sale: x402, rawInput }, call, services);
  if (x402?.isCredit === true) return sellPerCall({ operation, prepaid, x402, rawInput }, call, services);
  if (x402 !== undefined && call.caller === null)
    return sellByX402({ operation, sale: x402, rawInput }, call, services);
  const account = await admit(call, services);
  return runPrepaid(
    { operation, prepaid, input: validate(operation, rawInput, call.transport) },
    account,
    services,
  );
};
