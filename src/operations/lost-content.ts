/** The text of an error: media cannot be read back. */
export const lostContent = {
  when: 'The bytes could not be read.',
  message: 'The content could not be read. Try again.',
};
