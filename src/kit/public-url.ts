/** The base URL of the gateway, without a trailing slash: the configured one, or the address where it listens. */
export const createPublicUrl = (configured: string | null, expected: string) => {
  let listening = expected;
  return {
    publicUrl: (): string => configured ?? listening,
    /** Notes the address once it is known. */
    listeningAt: (url: string): void => {
      listening = url;
    },
  };
};

/** The path of the gateway itself, without a slash at its end. */
export const basePathOf = (publicUrl: string): string => new URL(publicUrl).pathname.replace(/\/$/, '');
