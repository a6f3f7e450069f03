import { AppError } from '../kit/errors.ts';

/** Throws AppError while every route of a SKU is suspended, because a new job could only fail. */
export const assertRoute = async (router: { restMs(): Promise<number> }): Promise<void> => {
  const restMs = await router.restMs();
  if (restMs > 0)
    throw new AppError(
      'upstream_unavailable',
      'model: no provider can make this now. Nothing was charged. Try again.',
      { param: 'model', retryAfterSeconds: Math.ceil(restMs / 1_000) },
    );
};
