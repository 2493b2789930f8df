/* formula_text.h - the notation of formulas: read from left to right, as on a calculator with a
 * stack.
 *
 * A number is put on the stack, a letter puts there what has its name, =a takes what is on top
 * under the name a, and a word, which begins with a capital, takes its operands, the last one from
 * the top, and puts its result. */
#ifndef MODELS_FORMULA_TEXT_H
#define MODELS_FORMULA_TEXT_H

enum { FORMULA_STACK = 8, FORMULA_NAMES = 26, FORMULA_WORD = 32 };

enum formula_token_kind { TOKEN_END, TOKEN_NUMBER, TOKEN_LETTER, TOKEN_NAMED, TOKEN_WORD };

struct formula_token {
    enum formula_token_kind kind;
    double number;
    unsigned name; /* of TOKEN_LETTER and TOKEN_NAMED: 0: a */
    char word[FORMULA_WORD];
};

/* The token at *at, which is then behind it. What is none of the others is a number. */
struct formula_token formula_token_next(const char **at);

#endif
